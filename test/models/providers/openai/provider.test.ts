// Tests requests to a chat-completions server, and the parsing of whole replies.
import { describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { ModelRequest } from "../../../../src/models/providers/contract.ts";
import { createAsk } from "../../../support/ask.ts";
import { answerText, USAGE } from "../../../support/upstream.ts";
import { connectReplica } from "../replica.ts";

const REQUEST_ID = "019aa7e4-2c00-7000-8000-0123456789ab";

const reply = (message: object, finish_reason: unknown = "stop", usage: unknown = USAGE) =>
  Response.json({ choices: [{ index: 0, message, finish_reason }], usage });

describe("the request", () => {
  const TOOL = { type: "function", function: { name: "add", parameters: {} } } as const;
  const base = { model: "model-1", messages: createAsk("Hello").messages, max_tokens: 8_192 };
  const CASES: [title: string, ask: Partial<ModelRequest>, body: object][] = [
    ["has no unrequested fields", {}, base],
    [
      "holds every parameter that was asked for",
      {
        temperature: 0,
        top_p: 0.5,
        presence_penalty: 0,
        frequency_penalty: -2,
        seed: 0,
        stop: ["a", "b"],
        tools: [TOOL],
        tool_choice: "required",
      },
      {
        ...base,
        temperature: 0,
        top_p: 0.5,
        presence_penalty: 0,
        frequency_penalty: -2,
        seed: 0,
        stop: ["a", "b"],
        tools: [TOOL],
        tool_choice: "required",
      },
    ],
    [
      "asks for temperature 0 in place of top_p 0",
      { top_p: 0, temperature: 2 },
      { ...base, temperature: 0 },
    ],
    ["has no tool choice without tools", { tool_choice: "none" }, base],
    [
      "always asks a stream for its usage",
      { stream: true },
      { ...base, stream: true, stream_options: { include_usage: true } },
    ],
    [
      "names the form of the reply that was asked for",
      { response_format: { type: "json_object" } },
      { ...base, response_format: { type: "json_object" } },
    ],
    [
      "has an empty text for a message with calls alone",
      { messages: [{ role: "assistant", content: null, tool_calls: [] }] },
      { ...base, messages: [{ role: "assistant", content: "", tool_calls: [] }] },
    ],
  ];
  for (const [title, ask, body] of CASES) {
    test(title, async () => {
      const replica = connectReplica(() => answerText("Hello"));
      await replica.ask(ask).completion;
      expect(replica.sent.map((sent) => sent.body)).toEqual([body as Record<string, unknown>]);
    });
  }

  test("has the server's own field for reasoning", async () => {
    const replica = connectReplica(() => answerText("Hello"), {
      reasoning_on: { chat_template_kwargs: { enable_thinking: true }, temperature: 0.6 },
      reasoning_off: { reasoning_effort: "none" },
    });
    await replica.ask({ reasoning: true }).completion;
    await replica.ask({ reasoning: true, temperature: 1 }).completion;
    await replica.ask({ reasoning: false }).completion;
    const thinking = { chat_template_kwargs: { enable_thinking: true } };
    expect(replica.sent.map(({ body }) => body)).toEqual([
      { ...base, ...thinking, temperature: 0.6 },
      // The caller's choice overrides the settings.
      { ...base, ...thinking, temperature: 1 },
      { ...base, reasoning_effort: "none" },
    ]);
  });

  test("offers only the chosen tool, for one call, to a server that ignores a choice by name", async () => {
    const OTHER = { type: "function", function: { name: "sub" } } as const;
    const replica = connectReplica(() => answerText("Hello"), { tool_choice_by_name: false });
    const named = { type: "function", function: { name: "add" } } as const;
    await replica.ask({ tools: [TOOL, OTHER], tool_choice: named }).completion;
    await replica.ask({ tools: [TOOL, OTHER], tool_choice: "auto" }).completion;
    expect(replica.sent.map(({ body }) => body)).toEqual([
      { ...base, tools: [TOOL], tool_choice: "required", parallel_tool_calls: false },
      { ...base, tools: [TOOL, OTHER], tool_choice: "auto" },
    ]);
    const other = connectReplica(() => answerText("Hello"));
    await other.ask({ tools: [TOOL, OTHER], tool_choice: named }).completion;
    expect(other.sent[0]!.body).toEqual({ ...base, tools: [TOOL, OTHER], tool_choice: named });
  });

  test("has a text in each message, sound arguments, and no field that reasoning sets", async () => {
    const replica = connectReplica(() => answerText("Hello"), {
      reasoning_off: { model: "other", max_tokens: 1, effort: "none" },
    });
    const call = (text: string) => ({
      id: "a",
      type: "function" as const,
      function: { name: "add", arguments: text },
    });
    const messages = [
      { role: "assistant" as const, content: null },
      { role: "assistant" as const, content: null, tool_calls: [call('{"a":"\\ud800"}')] },
    ];
    await replica.ask({ messages }).completion;
    expect(replica.sent[0]!.body).toEqual({
      ...base,
      effort: "none",
      messages: [
        { role: "assistant", content: "" },
        { role: "assistant", content: "", tool_calls: [call('{"a":"\\ufffd"}')] },
      ],
    });
  });

  test("is not sent for a caller who has left", async () => {
    const replica = connectReplica(() => answerText("Hello"));
    const caller = new AbortController();
    caller.abort();
    const { completion } = replica.ask({}, undefined, caller);
    expect([await completion, replica.sent, replica.clock.pending()]).toMatchObject([
      ...[{ code: "client_closed_request" }, [], 0],
    ]);
  });

  test("goes to the server's route with its own key, its headers and our id", async () => {
    const replica = connectReplica(() => answerText("Hello"), {
      url: "http://model.test/base/v1/",
      api_key: "secret",
      headers: { "X-Team": "one", "User-Agent": "acme", Authorization: "Basic eA==" },
    });
    await replica.ask({ request_id: REQUEST_ID }).completion;
    const [{ url, headers }] = replica.sent as [(typeof replica.sent)[0]];
    expect(url).toBe("http://model.test/base/v1/chat/completions");
    expect(headers).toEqual({
      authorization: "Bearer secret",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "acme",
      "x-request-id": REQUEST_ID,
      "x-team": "one",
    });
  });

  test("has an id only if it is a UUID, as llama-cpp-python requires", async () => {
    const replica = connectReplica(() => answerText("Hello"));
    const others = ["mine", "1", `${REQUEST_ID}.1`, `{${REQUEST_ID}}`, `x${REQUEST_ID.slice(1)}`];
    for (const request_id of [...others, REQUEST_ID.toUpperCase()]) {
      await replica.ask({ request_id, trace: { traceparent: "00-1-2-01" } }).completion;
    }
    expect(replica.sent.map(({ headers }) => headers["x-request-id"])).toEqual([
      ...others.map(() => undefined as never),
      REQUEST_ID.toUpperCase(),
    ]);
    expect(new Set(replica.sent.map(({ headers }) => headers.traceparent)).size).toBe(1);
  });
});

describe("a whole reply", () => {
  test("is one chunk of text and the server's own usage", async () => {
    const { heard, completion } = connectReplica(() => answerText("Hello")).ask();
    expect(await completion).toEqual({ ok: true, finishReason: "stop", usage: USAGE });
    expect(heard).toEqual([{ kind: "text", text: "Hello" }]);
  });

  test("has a chunk for each call, with arguments as text", async () => {
    const tool_calls = [
      { id: "a", type: "function", function: { name: "add", arguments: '{"x":1}' } },
      { id: "", function: { name: "sub", arguments: { x: 1 } } },
      null,
    ];
    const { heard, completion } = connectReplica(() => reply({ content: null, tool_calls })).ask();
    expect(await completion).toMatchObject({ ok: true, finishReason: "tool_calls" });
    expect(heard).toEqual([
      { kind: "call", index: 0, id: "a", name: "add", arguments: '{"x":1}' },
      {
        kind: "call",
        index: 1,
        id: expect.stringMatching(/^call_/),
        name: "sub",
        arguments: '{"x":1}',
      },
    ]);
  });

  for (const marks of [{ id: "call_0" }, { index: 0 }, { id: "call_0", index: 0 }, {}]) {
    test(`has all its calls, which are marked ${JSON.stringify(marks)}`, async () => {
      const texts = ['{"x":1}', '{"x":2}', ""];
      const tool_calls = texts.map((text) => {
        return { ...marks, type: "function", function: { name: "add", arguments: text } };
      });
      const { heard, completion } = connectReplica(() =>
        reply({ content: null, tool_calls }),
      ).ask();
      expect(await completion).toMatchObject({ ok: true, finishReason: "tool_calls" });
      expect(heard).toMatchObject(
        texts.map((text, index) => ({ kind: "call", index, name: "add", arguments: text })),
      );
      expect(new Set(heard.map((piece) => "id" in piece && piece.id)).size).toBe(3);
    });
  }

  test("never includes the reasoning", async () => {
    const message = {
      content: "42",
      reasoning: "secret",
      reasoning_content: "secret",
      thinking: "secret",
    };
    const { heard, completion } = connectReplica(() => reply(message)).ask();
    expect(await completion).toMatchObject({ ok: true });
    expect(heard).toEqual([{ kind: "text", text: "42" }]);
  });

  test("is the joined text of its parts", async () => {
    const thought = { type: "thinking", thinking: [{ type: "text", text: "secret" }] };
    const content = [thought, { type: "text", text: "4" }, null, { type: "text", text: "2" }];
    const { heard, completion } = connectReplica(() => reply({ content })).ask();
    await completion;
    expect(heard).toEqual([{ kind: "text", text: "42" }]);
  });

  test("may be empty", async () => {
    const { heard, completion } = connectReplica(() => reply({ content: "" })).ask();
    expect(await completion).toMatchObject({ ok: true, finishReason: "stop" });
    expect(heard).toEqual([]);
  });

  const REASONS: [sent: unknown, calls: boolean, expected: string][] = [
    ["stop", false, "stop"],
    ["stop", true, "tool_calls"],
    [null, false, "stop"],
    [undefined, true, "tool_calls"],
    ["tool_calls", true, "tool_calls"],
    ["tool_calls", false, "stop"],
    ["eos_token", false, "stop"],
    ["stop_sequence", false, "stop"],
    ["length", false, "length"],
    ["length", true, "length"],
    ["content_filter", false, "content_filter"],
  ];
  for (const [sent, calls, expected] of REASONS) {
    test(`that ends with ${sent} ${calls ? "after" : "without"} calls has the finish reason ${expected}`, async () => {
      const tool_calls = calls ? [{ id: "a", function: { name: "add", arguments: "{}" } }] : [];
      const { completion } = connectReplica(() => reply({ content: "", tool_calls }, sent)).ask();
      expect(await completion).toMatchObject({ ok: true, finishReason: expected });
    });
  }

  const UNTOLD = [
    ...[null, {}, "many", { prompt_tokens: 1 }, { ...USAGE, completion_tokens: -1 }],
    // Each number can be stored; their sum cannot, and the run would never be written.
    { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER },
    { ...USAGE, prompt_tokens: 1_000_000_001 },
  ];
  for (const usage of UNTOLD) {
    test(`with an invalid usage is estimated: ${JSON.stringify(usage)}`, async () => {
      const { completion } = connectReplica(() =>
        reply({ content: "Hello there" }, "stop", usage),
      ).ask();
      expect(await completion).toMatchObject({
        usage: { prompt_tokens: 6, completion_tokens: 3, total_tokens: 9 },
        usageEstimated: true,
      });
    });
  }

  test("has the sum as its total, whatever the server reports", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 99, extra: {} };
    const { completion } = connectReplica(() => reply({ content: "x" }, "stop", usage)).ask();
    expect(await completion).toMatchObject({
      usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
    });
  });

  test("answers a stream too, if the server cannot stream", async () => {
    const { heard, completion } = connectReplica(() => answerText("Hello")).ask({ stream: true });
    expect(await completion).toMatchObject({ ok: true, usage: USAGE });
    expect(heard).toEqual([{ kind: "text", text: "Hello" }]);
  });

  const BROKEN: [title: string, body: string, reason: string][] = [
    ["HTML", "<html>200 OK</html>", "its reply is no JSON object"],
    ["nothing", "", "its reply is no JSON object"],
    ["half of it", '{"choices":[{"mess', "its reply is no JSON object"],
    ["a list", "[]", "its reply is no JSON object"],
    ["no choices", "{}", "its reply has no message"],
    ["empty choices", '{"choices":[]}', "its reply has no message"],
    ["invalid choices", '{"choices":[null]}', "its reply has no message"],
    ["choices that are text", '{"choices":"Hello"}', "its reply has no message"],
  ];
  for (const [title, body, reason] of BROKEN) {
    test(`that is ${title} is an upstream error`, async () => {
      const { heard, completion } = connectReplica(() => new Response(body)).ask();
      expect(await completion).toEqual({
        ok: false,
        code: "upstream_error",
        retryable: true,
        reason: reason,
      });
      expect(heard).toEqual([]);
    });
  }

  test("may be sent in pieces without a length", async () => {
    const { heard, completion } = connectReplica(
      () => new Response(answerText("Hello é€😀").body?.pipeThrough(cutBytes())),
    ).ask();
    expect(await completion).toMatchObject({ ok: true });
    expect(heard).toEqual([{ kind: "text", text: "Hello é€😀" }]);
  });

  for (const [name, pack] of [
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const) {
    test(`is decompressed if it is ${name}, within its limit`, async () => {
      const send = (text: string) =>
        connectReplica(() => new Response(pack(text), { headers: { "content-encoding": name } }));
      const text = await answerText("Hello é").text();
      const { heard, completion } = send(text).ask();
      expect(await completion).toMatchObject({ ok: true, usage: USAGE });
      expect(heard).toEqual([{ kind: "text", text: "Hello é" }]);
      const reason = "its reply cannot be unpacked";
      expect(await send(" ".repeat(17 * 1024 * 1024)).ask().completion).toMatchObject({ reason });
      const headers = { "content-encoding": name };
      const broken = connectReplica(() => new Response(text, { headers }));
      expect(await broken.ask().completion).toMatchObject({ code: "upstream_error", reason });
    });
  }

  test("in an unknown encoding is an upstream error, and so is a compressed stream", async () => {
    const headers = { "content-encoding": "zstd" };
    const whole = connectReplica(() => new Response("{}", { headers })).ask();
    expect(await whole.completion).toMatchObject({ reason: "its reply cannot be unpacked" });
    for (const encoding of ["zstd", "gzip", "br"]) {
      const packed = { headers: { "content-encoding": encoding } };
      const stream = connectReplica(() => new Response("data: {}", packed));
      const reason = "its stream is packed";
      expect(await stream.ask({ stream: true }).completion).toMatchObject({ reason });
    }
  });

  test("is of JSON in whatever case its type is written", async () => {
    const server = async () => {
      const headers = { "content-type": "Application/JSON; charset=utf-8" };
      return new Response(await answerText("Hello").text(), { headers });
    };
    expect(await connectReplica(server).ask({ stream: true }).completion).toMatchObject({
      ...{ ok: true, usage: USAGE },
    });
  });

  test("tells by either name which stop has ended it", async () => {
    for (const [name, stopSequence] of [
      ["stop_reason", "b"],
      ["matched_stop", "b"],
      ["other", undefined],
    ] as const) {
      const read = async (value: string) => {
        const choice = { message: { content: "a" }, finish_reason: "stop", [name]: value };
        const server = () => Response.json({ choices: [choice], usage: USAGE });
        const completion = await connectReplica(server).ask({ stop: ["a", "b"] }).completion;
        return completion.ok && completion.stopSequence;
      };
      expect([await read("b"), await read("secret")]).toEqual([stopSequence, undefined]);
    }
  });

  test("may have 16 MB, and no more", async () => {
    const read = (bytes: number) => {
      const text = JSON.stringify({ choices: [{ message: { content: "" } }], pad: "" });
      const body = text.replace('"pad":""', `"pad":"${"x".repeat(bytes - text.length)}"`);
      return connectReplica(() => new Response(body)).ask().completion;
    };
    expect(await read(16_777_216)).toMatchObject({ ok: true });
    expect(await read(16_777_217)).toMatchObject({ reason: "its reply is larger than 16 MB" });
  });

  test("has a reason of one word, and counts up to a billion", async () => {
    const x = (count: number) => "x".repeat(count);
    const end = async (reason: string) => {
      const completion = await connectReplica(() => reply({ content: "a" }, reason)).ask()
        .completion;
      return completion.ok && completion.finishReason;
    };
    const ends = await Promise.all([x(32), x(33), "a b"].map(end));
    expect(ends).toEqual([x(32), "stop", "stop"]);
    const count = async (prompt_tokens: number) => {
      const usage = { prompt_tokens, completion_tokens: 1_000_000_000 };
      const server = () => reply({ content: "a" }, "stop", usage);
      const completion = await connectReplica(server).ask().completion;
      return completion.ok && (completion.usageEstimated ? null : completion.usage.prompt_tokens);
    };
    expect(await Promise.all([0, 1_000_000_000, 1_000_000_001, -1].map(count))).toEqual([
      ...[0, 1_000_000_000, null, null],
    ]);
  });

  test("may begin with a byte-order mark", async () => {
    const text = await answerText("Hello").text();
    const { completion } = connectReplica(() => new Response(`\ufeff${text}`)).ask();
    expect(await completion).toMatchObject({ ok: true });
  });

  test("is whole for a caller who leaves at its text: it has been paid for", async () => {
    const replica = connectReplica(() => answerText("Hello"));
    const asked = replica.ask({}, () => asked.caller.abort());
    expect(await asked.completion).toMatchObject({ ok: true, finishReason: "stop" });
  });

  test("awaits onChunk, whose error is no failure of the server", async () => {
    const bug = new Error("a bug");
    const { completion } = connectReplica(() => answerText("Hello")).ask({}, () =>
      Promise.reject(bug),
    );
    await expect(completion).rejects.toBe(bug);
    const thrown = connectReplica(() => answerText("Hello")).ask({}, () => {
      throw bug;
    });
    await expect(thrown.completion).rejects.toBe(bug);
  });
});

/** Splits into single bytes. */
function cutBytes() {
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
    },
  });
}
