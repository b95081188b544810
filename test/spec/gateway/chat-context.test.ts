// The context window of a chat: requests refused for their length, and the messages.
import { describe, expect, test } from "bun:test";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  writeFrame,
} from "../../support/upstream.ts";
import { type Chunk, expectRefusal, type Front, readFrames, startFront } from "./front.ts";
import { createKey } from "./keys.ts";

const WINDOW = 32_768;
/** Words that no byte count lets through, of some 25,000 tokens. */
const LONG = "several words ".repeat(6_000);
const CHAT = "/v1/chat/completions";
const SAYS = "The request exceeds the context window: this model's maximum context length is";
const need = (window: number, reply: number) =>
  `${SAYS} ${window} tokens, but the messages and a reply of up to ${reply} tokens need more (context_length_exceeded).`;

/** A server that counts every prompt so, and answers each chat. */
const counting = (count: number) => (request: AskedRequest) => {
  if (request.path === "/tokenize") return Response.json({ count, tokens: [] });
  if (request.path !== CHAT) return new Response(null, { status: 404 });
  return request.body.stream
    ? answerFrames([writeFrame({ content: "Hello" }, "stop"), DONE])
    : answerText("Hello");
};
/** A server without any route that counts. */
const silent = (answer: () => Response) => (request: AskedRequest) =>
  request.path === CHAT ? answer() : new Response(null, { status: 404 });

/** A second model, in front of the server at this address. */
const nameModel = (id: string, lines: string, url: string) => `
[[models]]
id = "${id}"
provider = "wadi"
self_hosted = true
${lines}
[models.upstream]
kind = "openai"
urls = ["${url}"]
`;
const paths = ({ upstream }: Front) => upstream.asked.map(({ path }) => path);
async function readMessage(response: Response): Promise<string> {
  const copy = response.clone();
  await expectRefusal(response, 400, "context_length_exceeded", "messages");
  return ((await copy.json()) as { error: { message: string } }).error.message;
}

describe("gateway.endpoints.chat_completions.4 where the model server counts tokens", () => {
  for (const stream of [false, true]) {
    const kind = stream ? "a stream" : "a JSON reply";
    test(`gateway.errors.context_length_exceeded ${kind} is refused with the counted tokens, and the model is not called`, async () => {
      await using front = await startFront();
      front.upstream.script = counting(WINDOW - 1_000 + 1);
      const response = await front.chat(LONG, { max_tokens: 1_000, stream });
      expect(await readMessage(response)).toBe(
        `${SAYS} 32768 tokens, but it needs 32769 (31769 in the messages, 1000 for the reply) (context_length_exceeded).`,
      );
      expect(paths(front)).toEqual(["/tokenize"]);
    });

    test(`${kind} that just fits is answered`, async () => {
      await using front = await startFront();
      front.upstream.script = counting(WINDOW - 1_000);
      expect((await front.chat(LONG, { max_tokens: 1_000, stream })).status).toBe(201);
      expect(paths(front)).toEqual(["/tokenize", CHAT]);
    });
  }

  test("a request that cannot be too long is not counted, and a repeated one only once", async () => {
    await using front = await startFront();
    front.upstream.script = counting(100);
    await front.chat("Hello");
    expect(paths(front)).toEqual([CHAT]);
    for (let n = 0; n < 3; n++) expect((await front.chat(LONG)).status).toBe(201);
    expect(paths(front)).toEqual([CHAT, "/tokenize", CHAT, CHAT, CHAT]);
  });

  test("the model's default budget applies when the request has none", async () => {
    await using front = await startFront({ model: "default_max_tokens = 2_000" });
    front.upstream.script = counting(WINDOW - 2_000 + 1);
    expect(await readMessage(await front.chat(LONG))).toContain("2000 for the reply");
    expect((await front.chat(LONG, { max_tokens: 1_999 })).status).toBe(201);
  });

  test("gateway.endpoints.chat_completions.6 the key's output cap lowers the budget, so that the request fits", async () => {
    await using front = await startFront();
    const key = await createKey(front, { max_output_tokens: 500 });
    front.upstream.script = counting(WINDOW - 500);
    expect((await front.chat(LONG, { max_tokens: 4_000 }, { key })).status).toBe(201);
    expect(await readMessage(await front.chat(LONG, { max_tokens: 4_000 }))).toContain("4000 for");
  });

  test("the model's own system prompt counts too", async () => {
    await using front = await startFront({ model: `system_prompt = "${"Be brief. ".repeat(5)}"` });
    front.upstream.script = counting(100);
    await front.chat(LONG);
    const [request] = front.upstream.asked;
    expect(request!.body.messages).toMatchObject([{ role: "system" }, { role: "user" }]);
  });

  test("the check applies by alias, without a model, and by an unknown id with its headers", async () => {
    await using front = await startFront();
    front.upstream.script = counting(WINDOW);
    for (const model of ["svc", "svc-v0", undefined, "test-1", "gpt-4o"]) {
      const response = await front.chat(LONG, { model });
      const isMarked = response.headers.has("deprecation");
      expect([model, isMarked]).toEqual([model, model === "gpt-4o"]);
      expect(await readMessage(response)).toContain("32768 in the messages");
    }
  });

  test("a caller that leaves cancels the count", async () => {
    await using front = await startFront();
    const counted = Promise.withResolvers<AskedRequest>();
    front.upstream.script = (request) => {
      counted.resolve(request);
      return new Promise(() => undefined);
    };
    const caller = new AbortController();
    const asking = front.chat(LONG, {}, { signal: caller.signal });
    const { signal } = await counted.promise;
    const closed = new Promise((resolve) => signal.addEventListener("abort", resolve));
    caller.abort();
    await asking.catch(() => undefined);
    await closed;
    expect(await front.logged("client_closed_request")).toMatchObject({ status: 499 });
    expect(paths(front)).toEqual(["/tokenize"]);
  });

  test("a count that takes longer than five seconds leaves the decision to the model server", async () => {
    await using front = await startFront();
    const counted = Promise.withResolvers<void>();
    front.upstream.script = (request) => {
      if (request.path === CHAT) return answerText("Hello");
      counted.resolve();
      return new Promise(() => undefined);
    };
    const asking = front.chat(LONG);
    await counted.promise;
    await front.clock.advance(5_000);
    expect((await asking).status).toBe(201);
  });
});

describe("gateway.endpoints.chat_completions.4 where the model server does not count", () => {
  test("a request that is far too long is still refused", async () => {
    await using front = await startFront({ model: "default_max_tokens = 3_000" });
    front.upstream.script = silent(() => answerText("Hello"));
    const response = await front.chat("several words ".repeat(18_500));
    expect(await readMessage(response)).toBe(need(WINDOW, 3_000));
    expect(paths(front)).not.toContain(CHAT);
    expect((await front.chat("several words ".repeat(18_000))).status).toBe(201);
  });

  test("a budget that fills the window is refused, whatever the messages", async () => {
    await using server = await startFront();
    const more = nameModel("short", "context_window = 4_096", server.upstream.url);
    await using front = await startFront({ more });
    const say = (max_tokens: number) => front.chat("Hi", { model: "short", max_tokens });
    expect(await readMessage(await say(4_096))).toBe(need(4_096, 4_096));
    expect((await say(3_500)).status).toBe(201);
    expect(paths(server)).toEqual([CHAT]);
  });

  test("a request with an image is counted however short it is, by its text", async () => {
    await using front = await startFront();
    front.upstream.script = silent(() => answerText("Hello"));
    const url = `data:image/png;base64,${"A".repeat(200_000)}`;
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: { url } },
    ];
    const response = await front.send({ messages: [{ role: "user", content }] });
    expect(response.status).toBe(201);
    expect(paths(front)[0]).toBe("/tokenize");
    expect(paths(front).at(-1)).toBe(CHAT);
  });
});

/** The model inside, with a window of 1,000 tokens. */
const STUB = `
[[models]]
id = "stub-1"
provider = "wadi"
self_hosted = true
context_window = 1_000
default_max_tokens = 500
capabilities = ["streaming", "vision"]
[models.upstream]
kind = "stub"
`;

test("gateway.endpoints.chat_completions.4 the built-in model counts the images too", async () => {
  await using front = await startFront({ more: STUB });
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const show = (images: number) =>
    front.send({
      model: "stub-1",
      messages: [
        { role: "user", content: [{ type: "text", text: "Hi" }, ...Array(images).fill(image)] },
      ],
      max_tokens: 400,
    });
  expect((await show(2)).status).toBe(201);
  expect(await readMessage(await show(3))).toContain("it needs 1173 (773 in the messages");
});

test("gateway.endpoints.chat_completions.4 the built-in model counts exactly the tokens that it reports as usage", async () => {
  await using front = await startFront({ more: STUB });
  const say = (words: number, max_tokens: number, stream = false) =>
    front.chat("abcd ".repeat(words).trimEnd(), { model: "stub-1", max_tokens, stream });
  const first = await (await say(500, 10)).json();
  const { prompt_tokens } = (first as { usage: { prompt_tokens: number } }).usage;
  expect((await say(500, 1_000 - prompt_tokens)).status).toBe(201);
  for (const stream of [false, true]) {
    const message = await readMessage(await say(500, 1_001 - prompt_tokens, stream));
    expect(message).toContain(`it needs 1001 (${prompt_tokens} in the messages`);
  }
});

describe("gateway.errors.context_length_exceeded a request that the model server refuses for its length", () => {
  const json = (status: number, body: object) => () => Response.json(body, { status });
  const REFUSALS: [kind: string, refusal: () => Response][] = [
    [
      "vLLM",
      json(400, {
        error: {
          message:
            "This model's maximum context length is 512 tokens. However, you requested 900 tokens.",
          type: "BadRequestError",
          param: null,
          code: 400,
        },
      }),
    ],
    [
      "SGLang",
      json(400, {
        object: "error",
        message: "The input (900 tokens) is longer than the model's context length (512 tokens).",
        type: "BadRequestError",
        code: 400,
      }),
    ],
    [
      "llama.cpp",
      json(400, {
        error: {
          code: 400,
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 900,
          n_ctx: 512,
        },
      }),
    ],
    [
      "TGI",
      json(422, {
        error: "Input validation error: `inputs` must have less than 512 tokens. Given: 900",
        error_type: "validation",
      }),
    ],
  ];
  for (const [kind, refusal] of REFUSALS) {
    for (const stream of [false, true]) {
      test(`${kind}, ${stream ? "a stream" : "a JSON reply"}: returns our sentence, without the server's text`, async () => {
        await using front = await startFront();
        front.upstream.script = silent(refusal);
        const message = await readMessage(await front.chat("Hello", { stream }));
        expect(message).toBe(need(WINDOW, 1_024));
      });
    }
  }

  test("names no window if none is recorded", async () => {
    await using server = await startFront();
    const more = nameModel("unknown-window", 'capabilities = ["streaming"]', server.upstream.url);
    await using front = await startFront({ more });
    server.upstream.script = silent(REFUSALS[0]![1]);
    for (const stream of [false, true]) {
      const response = await front.chat(LONG, { model: "unknown-window", stream });
      expect(await readMessage(response)).toBe(
        "The request exceeds the context window of this model (context_length_exceeded).",
      );
    }
    expect(paths(server)).toEqual([CHAT, CHAT]);
  });

  test("gateway.events.4 in a stream that has begun the error is a frame with the same sentence", async () => {
    await using front = await startFront();
    const error = { code: 400, message: "This model's maximum context length is 512 tokens." };
    front.upstream.script = () =>
      answerFrames([writeFrame({ content: "Hi" }), `data: ${JSON.stringify({ error })}\n\n`]);
    const frames = await readFrames(await front.chat("Hello", { stream: true }));
    const message = need(WINDOW, 1_024);
    const type = "invalid_request_error";
    expect((frames[1] as Chunk).error as object).toEqual({
      message,
      type,
      code: "context_length_exceeded",
      param: "messages",
    });
    expect(frames.at(-1)).toBe("data: [DONE]");
  });
});
