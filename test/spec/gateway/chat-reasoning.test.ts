// Reasoning: requested by the server's own arguments, and never shown to the caller.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../../support/app.ts";
import { answerFrames, answerText, DONE, USAGE, writeFrame } from "../../support/upstream.ts";
import { type Front, readChunks, startFront } from "./front.ts";

const startStub = async () => {
  const app = await startApp();
  return { ...app, [Symbol.asyncDispose]: app.stop };
};

const USAGE_FRAME = `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`;
let front: Front;
beforeAll(async () => {
  front = await startFront({
    upstream: `reasoning_on = { chat_template_kwargs = { enable_thinking = true } }
reasoning_off = { chat_template_kwargs = { enable_thinking = false }, top_k = 20 }
thought_opens = "asked"`,
  });
});
afterAll(() => front.stop());

/** The text that a caller gets of a stream with these deltas. */
async function stream(contents: string[], finish_reason = "stop"): Promise<string[]> {
  const frames = contents.map((content) => writeFrame({ content }));
  front.upstream.script = () =>
    answerFrames([...frames, writeFrame({}, finish_reason), USAGE_FRAME, DONE]);
  const chunks = await readChunks(await front.chat("Hello", { stream: true }));
  return chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? []);
}

describe("gateway.endpoints.chat_completions.reasoning", () => {
  test("true merges the model's arguments for it, any other value those against it", async () => {
    front.upstream.script = () => answerText("42");
    const requestFor = async (fields: object) => {
      expect((await front.chat("Hello", fields)).status).toBe(201);
      const { chat_template_kwargs, top_k, reasoning } = front.last().body;
      expect(reasoning).toBeUndefined();
      return { chat_template_kwargs, top_k };
    };
    const on = { chat_template_kwargs: { enable_thinking: true } };
    const off = { chat_template_kwargs: { enable_thinking: false }, top_k: 20 };
    expect(await requestFor({ reasoning: true })).toEqual(on as never);
    for (const fields of [{}, { reasoning: false }, { reasoning: null }]) {
      expect(await requestFor(fields)).toEqual(off);
    }
  });

  test("a JSON reply omits the reasoning and counts its tokens", async () => {
    front.upstream.script = () => answerText("<think>\nsecret\n</think>\n\n42");
    expect(await (await front.chat("Hello", { reasoning: true })).json()).toMatchObject({
      choices: [{ message: { role: "assistant", content: "42" } }],
      usage: USAGE,
    });
    front.upstream.script = () => answerText("<think>secret, and never closed");
    expect(await (await front.chat("Hello")).json()).toMatchObject({
      choices: [{ message: { role: "assistant", content: "" } }],
    });
  });

  test("so does a stream, wherever the tags are split", async () => {
    const text = "<think>secret</think>42 < 43";
    for (let cut = 1; cut < text.length; cut++) {
      const received = await stream([text.slice(0, cut), text.slice(cut)]);
      expect(received.join("")).toBe("42 < 43");
    }
    expect((await stream([...text])).join("")).toBe("42 < 43");
    // Only reasoning: a chunk for the role, without text, and the end.
    expect(await stream(["<think>secret", " secret"], "length")).toEqual([""]);
    expect(await stream(["42 <thi"])).toEqual(["42 ", "<thi"]);
  });

  test("so does a reply whose prompt opened the block, or whose reasoning mentions the tag", async () => {
    const ask = async (contents: string[]) => {
      const frames = contents.map((content) => writeFrame({ content }));
      front.upstream.script = () => answerFrames([...frames, writeFrame({}, "stop"), DONE]);
      const response = await front.chat("Hello", { stream: true, reasoning: true });
      const chunks = await readChunks(response);
      return chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? []);
    };
    expect(await ask(["secret", " secret</thi", "nk>", "\n\n42", "!"])).toEqual(["42", "!"]);
    expect(await ask(["<think>secret <think>", "</think>secret", "</think>42"])).toEqual(["42"]);
  });

  test("the stub streams its text with and without reasoning", async () => {
    await using app = await startStub();
    const ask = async (reasoning: boolean) =>
      (await readChunks(await app.chat("!say a word or two", { stream: true, reasoning }))).length;
    expect(await ask(true)).toBe(await ask(false));
    expect(await ask(true)).toBeGreaterThan(3);
  });
});

describe("gateway.endpoints.chat_completions.3 the unlisted response_format", () => {
  const schema = { type: "object", properties: {} };
  const format = { type: "json_schema", json_schema: { name: "a", schema, strict: true } };

  test("is ignored, whatever its value", async () => {
    front.upstream.script = () => answerText("42");
    for (const response_format of [format, "json", 5, null]) {
      expect((await front.chat("Hello", { response_format })).status).toBe(201);
      expect(front.last().body).not.toHaveProperty("response_format");
    }
  });

  test("gets a valid document from the stub, as JSON, streamed, and after tools", async () => {
    await using app = await startStub();
    const own = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const fields = {
      response_format: { type: "json_schema", json_schema: { name: "a", schema: own } },
    };
    const reply = await app.chat("Take 7", fields);
    expect(reply.headers.get("x-wadi-ignored")).toBeNull();
    const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] };
    expect(JSON.parse(choices[0]!.message.content)).toEqual({ n: 7 });
    const chunks = await readChunks(await app.chat("Take 7", { ...fields, stream: true }));
    expect(chunks.map(({ choices: [one] }) => one?.delta.content ?? "").join("")).toBe('{"n":7}');
    const object = await app.chat("Take 7", { response_format: { type: "json_object" } });
    expect(await object.text()).toContain(JSON.stringify(JSON.stringify({ text: "Take 7" })));
  });

  test("is named in a header of replies and streams when it has no effect", async () => {
    const more = 'capabilities = ["streaming", "structured_outputs"]';
    await using able = await startFront({ model: more });
    const ask = async (on: Front, fields: object) => {
      const reply = await on.chat("Hello", fields);
      await reply.text();
      return reply.headers.get("x-wadi-ignored");
    };
    const all = { n: 2, max_completion_tokens: 5, response_format: format };
    const frames = [writeFrame({ content: "42" }), writeFrame({}, "stop"), USAGE_FRAME, DONE];
    for (const stream of [false, true]) {
      const script = () => (stream ? answerFrames(frames) : answerText("42"));
      for (const { upstream } of [able, front]) upstream.script = script;
      expect(await ask(front, { ...all, stream })).toBe(
        "response_format, n, max_completion_tokens",
      );
      expect(await ask(able, { ...all, stream })).toBe("n, max_completion_tokens");
      expect(await ask(able, { response_format: 5, stream })).toBe("response_format");
      const nothing = { n: 1, max_completion_tokens: null, response_format: { type: "text" } };
      expect(await ask(front, { ...nothing, stream, reasoning_effort: "low" })).toBeNull();
    }
  });

  test("is forwarded if well formed to a model that supports it", async () => {
    const capabilities = 'capabilities = ["streaming", "structured_outputs"]';
    await using own = await startFront({ model: capabilities });
    const requestFor = async (response_format: unknown) => {
      expect((await own.chat("Hello", { response_format })).status).toBe(201);
      return own.last().body.response_format;
    };
    const more = { type: "json_schema", json_schema: { ...format.json_schema, x: 1 }, y: 2 };
    expect(await requestFor(format)).toEqual(format);
    expect(await requestFor(more)).toEqual(format);
    expect(await requestFor({ type: "json_object", z: 1 })).toEqual({ type: "json_object" });
    const { strict: _, ...lax } = format.json_schema;
    const without = { type: "json_schema", json_schema: { ...lax, strict: null } };
    expect(await requestFor(without)).toEqual({ type: "json_schema", json_schema: lax });
    const bad = [5, null, "json", [], {}, { type: "xml" }, { type: "json_schema" }];
    const name = { type: "json_schema", json_schema: { name: "a b", schema } };
    for (const sent of [...bad, name]) expect(await requestFor(sent)).toBeUndefined();
  });
});
