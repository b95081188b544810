// Deep thinking: the number of attempts, the returned reply, and its usage.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY, startApp } from "../../support/app.ts";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  USAGE,
  writeFrame,
} from "../../support/upstream.ts";
import {
  expectRefusal,
  type Front,
  readChunks,
  readFrames,
  readLive,
  startFront,
} from "./front.ts";
import { createKey } from "./keys.ts";

const TOOL = { type: "function", function: { name: "add", parameters: {} } };
/** Attempts arrive in any order; their seeds identify them. */
const SEED = 100;
const indexOf = ({ body }: AskedRequest) => (body.seed as number) - SEED;

let front: Front;
beforeAll(async () => {
  front = await startFront({
    upstream: "reasoning_on = { chat_template_kwargs = { enable_thinking = true } }",
  });
});
afterAll(() => front.stop());
beforeEach(() => {
  front.upstream.asked.length = 0;
  front.upstream.script = () => answerText("42");
});

/** Reply of the attempt with this index; a number is the status of its failure. */
function script(own: Front, ...answers: (string | number)[]): void {
  own.upstream.script = (request) => {
    const answer = answers[indexOf(request)]!;
    return typeof answer === "string" ? answerText(answer) : new Response("no", { status: answer });
  };
}

const think = (fields: object = {}, own = front) =>
  own.chat("Six times seven?", { think: true, seed: SEED, ...fields });

interface Reply {
  choices: { message: { content: string }; finish_reason: string }[];
  usage: object;
}
async function readText(response: Response): Promise<string> {
  expect(response.status).toBe(201);
  return ((await response.json()) as Reply).choices[0]!.message.content;
}

const times = (count: number) =>
  Object.fromEntries(Object.entries(USAGE).map(([name, tokens]) => [name, tokens * count]));

/** Resolves with all requests as soon as this many attempts have arrived. */
function arrive(own: Front, count: number) {
  const arrived = Promise.withResolvers<AskedRequest[]>();
  own.upstream.script = () => {
    if (own.upstream.asked.length === count) arrived.resolve([...own.upstream.asked]);
    return new Promise<Response>(() => undefined);
  };
  return arrived.promise;
}

const untilClosed = ({ signal }: AskedRequest) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });

describe("gateway.endpoints.chat_completions.think", () => {
  test("three attempts agree: no more are made, and usage counts all of them", async () => {
    script(front, "Answer: 42", "So it is \\boxed{42}.", "**Answer:** 42.0");
    const response = await think();
    expect(response.headers.get("server-timing")).toContain("upstream;dur=");
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant" }, finish_reason: "stop" }],
      usage: times(3),
    });
    expect(front.upstream.asked).toHaveLength(3);
  });

  test("three attempts disagree: two more are made, and the majority's reply is returned", async () => {
    script(front, "It is 41.\n\n41", "Well.\n\n42", "40", "Well then.\n\n**42**", "39");
    const response = await think();
    const reply = (await response.clone().json()) as Reply;
    expect(await readText(response)).toMatch(/^Well/);
    expect(reply.usage).toEqual(times(5));
    expect(front.upstream.asked.map(indexOf).sort()).toEqual([0, 1, 2, 3, 4]);
  });

  test("its finish_reason is that of the returned attempt", async () => {
    front.upstream.script = () => {
      const message = { role: "assistant", content: "42" };
      const choices = [{ index: 0, message, finish_reason: "length" }];
      return Response.json({ choices, usage: USAGE });
    };
    expect(await (await think()).json()).toMatchObject({ choices: [{ finish_reason: "length" }] });
  });

  test("false and null make one attempt", async () => {
    for (const value of [false, null, undefined]) {
      front.upstream.asked.length = 0;
      expect(await readText(await think({ think: value }))).toBe("42");
      expect(front.upstream.asked).toHaveLength(1);
      expect(front.last().body).not.toHaveProperty("temperature");
    }
  });

  test("attempts differ only by temperature or seed", async () => {
    const request = async (fields: object) => {
      front.upstream.asked.length = 0;
      expect((await think(fields)).status).toBe(201);
      const bodies = front.upstream.asked.map(({ body }) => body);
      return bodies.sort((one, other) => Number(one.seed) - Number(other.seed));
    };
    const unsaid = await request({ seed: undefined });
    expect(unsaid.map(({ temperature, seed }) => [temperature, seed])).toEqual(
      Array(3).fill([0.7, undefined]),
    );
    const said = await request({ temperature: 0.2, top_p: 0.5, stop: ["x"], max_tokens: 9 });
    expect(said[0]).toMatchObject({ temperature: 0.2, top_p: 0.5, stop: ["x"], max_tokens: 9 });
    for (const [n, body] of said.entries()) expect(body).toEqual({ ...said[0], seed: SEED + n });
    const large = Number.MAX_SAFE_INTEGER;
    const seeds = (await request({ seed: large })).map(({ seed }) => seed);
    expect(seeds).toEqual([large - 2, large - 1, large]);
  });

  test("only one attempt carries the id, for servers such as vLLM that refuse duplicates", async () => {
    const own_id = "019aa7e4-2c00-7000-8000-0123456789ab";
    const headers = { "x-request-id": own_id };
    await readText(await front.chat("Hello", { think: true }, { headers }));
    const ids = front.upstream.asked.map(({ headers }) => headers.get("x-request-id"));
    expect(ids.filter((id) => id !== null)).toEqual([own_id]);
    expect(ids).toHaveLength(3);
  });

  test("each attempt reasons if requested, and the reasoning is not returned", async () => {
    front.upstream.script = (request) =>
      answerText(`<think>${indexOf(request)}? No: 7</think>\n\nIt is 42.`);
    expect(await readText(await think({ reasoning: true }))).toBe("It is 42.");
    expect(front.upstream.asked.map(({ body }) => body.chat_template_kwargs)).toEqual(
      Array(3).fill({ enable_thinking: true }),
    );
    // Reasoning does not vote, either.
    front.upstream.script = (request) => answerText(`${request.body.seed}</think>42`);
    expect(await readText(await think({ reasoning: true }))).toBe("42");
    expect(front.upstream.asked).toHaveLength(6);
  });

  test("an empty list of tools equals none", async () => {
    expect(await readText(await think({ tools: [] }))).toBe("42");
  });

  test("gateway.endpoints.chat_completions.4 a request that does not fit is refused before any attempt", async () => {
    const response = await think({ messages: [{ role: "user", content: "a ".repeat(100_000) }] });
    await expectRefusal(response, 400, "context_length_exceeded", "messages");
    expect(front.upstream.asked.filter(({ path }) => path.endsWith("completions"))).toEqual([]);
  });
});

describe("gateway.endpoints.chat_completions.think attempts that fail", () => {
  test("are dropped", async () => {
    script(front, 500, "42", "42");
    expect(await readText(await think())).toBe("42");
    expect(front.upstream.asked).toHaveLength(3);
  });

  test("leave one without a partner to agree with, so more are made", async () => {
    script(front, 500, "41", 429, "42", "42");
    expect(await readText(await think())).toBe("42");
    expect(front.upstream.asked).toHaveLength(5);
  });

  test("all of them: the error of the first is returned, and no more are made", async () => {
    script(front, 429, 500, 500);
    await expectRefusal(await think(), 429, "upstream_rate_limited");
    script(front, 500, 429, 429);
    await expectRefusal(await think({ stream: true }), 502, "upstream_error");
    expect(front.upstream.asked).toHaveLength(6);
  });
});

describe("gateway.endpoints.chat_completions.think as a stream", () => {
  test("gateway.events.5 one chunk with the complete reply, the finish reason, the usage", async () => {
    front.upstream.script = () =>
      answerFrames([
        ...["For", "ty", "-two"].map((content) => writeFrame({ content })),
        writeFrame({}, "stop", { usage: USAGE }),
        DONE,
      ]);
    const options = { stream: true, stream_options: { include_usage: true } };
    const chunks = await readChunks(await think(options));
    expect(chunks.map(({ choices, usage }) => usage ?? choices[0])).toEqual([
      { index: 0, delta: { role: "assistant", content: "Forty-two" }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: "stop" },
      times(3),
    ] as object[]);
    expect(front.upstream.asked.map(({ body }) => body.stream)).toEqual([true, true, true]);
  });

  test("gateway.events.2 keep-alives until the majority is known", async () => {
    const request = arrive(front, 3);
    const answers: ((response: Response) => void)[] = [];
    const hang = front.upstream.script;
    front.upstream.script = (one) => {
      void hang(one);
      return new Promise<Response>((resolve) => answers.push(resolve));
    };
    const replied = think({ stream: true });
    await request;
    await front.clock.advance(14_999);
    expect(Bun.peek.status(replied)).toBe("pending");
    await front.clock.advance(1);
    const response = await replied;
    expect(response.status).toBe(201);
    const read = readLive(response);
    expect(await read()).toBe(": keep-alive\n\n");
    answers[0]!(answerText("42"));
    answers[1]!(answerText("42"));
    for (let n = 0; n < 2; n++) {
      await front.clock.advance(15_000);
      expect(await read()).toBe(": keep-alive\n\n");
    }
    answers[2]!(answerText("42"));
    let text = "";
    while (!text.endsWith("data: [DONE]\n\n")) text += await read();
    expect(text).toContain('"content":"42"');
  });

  test("gateway.events.4 a failure after a keep-alive appears in the stream", async () => {
    const request = arrive(front, 3);
    const replied = think({ stream: true });
    await request;
    await front.clock.advance(120_000);
    const frames = await readFrames(await replied);
    expect(frames.at(-2)).toMatchObject({ error: { code: "upstream_timeout" } });
    expect(frames.at(-1)).toBe("data: [DONE]");
  });

  test("a long reply arrives complete", async () => {
    await using own = await startFront({}, { listens: true });
    const long = "word ".repeat(180_000);
    own.upstream.script = () => answerText(long);
    const [first] = await readChunks(await think({ stream: true }, own));
    expect(first!.choices[0]!.delta.content).toBe(long);
  });

  test("a stream that breaks off is not an attempt", async () => {
    front.upstream.script = (request) =>
      indexOf(request) === 0
        ? answerFrames([writeFrame({ content: "Four" })])
        : answerFrames([writeFrame({ content: "42" }), writeFrame({}, "stop"), DONE]);
    const chunks = await readChunks(await think({ stream: true }));
    expect(chunks[0]!.choices[0]!.delta.content).toBe("42");
    expect(front.upstream.asked).toHaveLength(3);
  });
});

describe("gateway.endpoints.chat_completions.think unneeded attempts are cancelled", () => {
  test("an attempt that cannot change the result is disconnected", async () => {
    const late = Promise.withResolvers<AskedRequest>();
    front.upstream.script = async (request) => {
      const index = indexOf(request);
      if (index < 3) return answerText(index === 0 ? "41" : "42");
      if (index === 4) late.resolve(request);
      // The fourth answers once the fifth is there, which never does.
      await late.promise;
      return index === 3 ? answerText("42") : new Promise<Response>(() => undefined);
    };
    expect(await readText(await think())).toBe("42");
    await untilClosed(await late.promise);
    expect(front.upstream.asked).toHaveLength(5);
  });

  test("gateway.errors.client_closed_request a caller that leaves closes all attempts", async () => {
    await using own = await startFront({}, { listens: true });
    for (const stream of [false, true]) {
      own.upstream.asked.length = 0;
      own.lines.length = 0;
      const request = arrive(own, 3);
      const caller = new AbortController();
      const fields = { think: true, stream };
      const left = own.chat("Hello", fields, { signal: caller.signal }).catch(() => "left");
      const all = await request;
      caller.abort();
      expect(await left).toBe("left");
      await Promise.all(all.map(untilClosed));
      expect(await own.logged("client_closed_request")).toMatchObject({ status: 499 });
    }
  });

  test("gateway.events.4 a stop in the middle sends its caller an error, and ends all attempts", async () => {
    await using own = await startFront({}, { listens: true });
    const request = arrive(own, 3);
    const replied = own.chat("Hello", { think: true, stream: true });
    const all = await request;
    await own.clock.advance(15_000);
    const frames = readFrames(await replied);
    const stopping = own.app.stop(1_000);
    await own.clock.advance(1_000);
    await own.clock.advance(1_000);
    await stopping;
    const [error, done] = (await frames).slice(-2);
    expect([error, done]).toMatchObject([{ error: { code: "upstream_error" } }, "data: [DONE]"]);
    await Promise.all(all.map(untilClosed));
  });
});

describe("gateway.authentication.4 gateway.endpoints.chat_completions.7 a model that needs it", () => {
  const start = () => startFront({ model: 'think = "required"' });

  test("thinks at every call, whatever the request says", async () => {
    await using own = await start();
    for (const value of [undefined, null, false, true]) {
      own.upstream.asked.length = 0;
      expect((await own.chat("Hello", { think: value })).status).toBe(201);
      expect(own.upstream.asked).toHaveLength(3);
    }
  });

  test("gateway.endpoints.chat_completions.3 refuses tools, after the check of scopes", async () => {
    await using own = await start();
    const fields = { tools: [TOOL] };
    await expectRefusal(await own.chat("Hello", fields), 400, "invalid_request", "tools");
    const both = await own.chat("Hello", { ...fields, think: true });
    await expectRefusal(both, 400, "invalid_request", "think");
    const none = await own.chat("Hello", fields, { key: `${KEY}-none` });
    await expectRefusal(none, 403, "scope_required", "model");
    const thinker = await createKey(own, { scopes: ["think"] });
    const reasoning = await own.chat("Hello", { ...fields, reasoning: true }, { key: thinker });
    await expectRefusal(reasoning, 403, "scope_required", "reasoning");
    expect(own.upstream.asked).toEqual([]);
    expect((await own.chat("Hello", { tools: [] })).status).toBe(201);
  });

  test("is available to a key with the scope and to no other", async () => {
    await using own = await start();
    const key = await createKey(own, { scopes: ["think"] });
    expect((await own.chat("Hello", {}, { key })).status).toBe(201);
    const other = await createKey(own, { scopes: ["reasoning", "search", "embeddings"] });
    await expectRefusal(
      await own.chat("Hello", {}, { key: other }),
      403,
      "scope_required",
      "model",
    );
  });
});

test("gateway.endpoints.chat_completions.think changed settings apply from the next request", async () => {
  await using own = await startFront({ more: "[think]\nattempts = 4\nattempts_more = 0\n" });
  const count = async () => {
    own.upstream.asked.length = 0;
    expect((await own.chat("Hello", { think: true })).status).toBe(201);
    return own.upstream.asked.length;
  };
  expect(await count()).toBe(4);
  const text = `[[models]]
id = "test-1"
self_hosted = true
upstream = { kind = "openai", urls = ["${own.upstream.url}"] }
[think]
attempts = 5
attempts_more = 4
`;
  await own.app.change(readSettings(text, "wadi.toml", {}, { "server.port": 0 }));
  expect(await count()).toBe(5);
});

test("gateway.endpoints.chat_completions.think the stub's attempts agree at once", async () => {
  const app = await startApp();
  const once = (await (await app.chat("Hello")).json()) as Reply;
  const thought = (await (await app.chat("Hello", { think: true })).json()) as Reply;
  const tripled = Object.entries(once.usage).map(([name, tokens]) => [name, tokens * 3]);
  expect(thought).toMatchObject({
    choices: [{ message: { content: "You said: Hello" } }],
    usage: Object.fromEntries(tripled),
  });
  const streamed = await readChunks(await app.chat("Hello", { think: true, stream: true }));
  expect(streamed[0]!.choices[0]!.delta.content).toBe("You said: Hello");
  await expectRefusal(
    await app.chat("!error upstream_error", { think: true }),
    502,
    "upstream_error",
  );
  const refused = await app.chat("!error rate_limit_exceeded", { think: true });
  await expectRefusal(refused, 429, "rate_limit_exceeded");
  await app.stop();
});
