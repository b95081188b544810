// The event stream of a chat: its sequence, its comments, and errors that come too late for a status.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../../support/app.ts";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  USAGE,
  writeFrame,
} from "../../support/upstream.ts";
import {
  type Chunk,
  expectRefusal,
  type Front,
  parseFrames,
  readChunks,
  readFrames,
  readLive,
  startFront,
} from "./front.ts";

const USAGE_FRAME = writeFrame({}, null, { choices: [], usage: USAGE });
const END = writeFrame({}, "stop") + USAGE_FRAME + DONE;
const encoder = new TextEncoder();

let front: Front;
let stub: TestApp;
beforeAll(async () => {
  front = await startFront({ upstream: 'first_token_timeout = "10m"\nstall_timeout = "10m"' });
  stub = await startApp();
});
afterAll(async () => {
  await front.stop();
  await stub.stop();
});

/** Streams these frames of the model server. */
async function stream(frames: string[], fields: object = {}): Promise<Response> {
  front.upstream.script = () => answerFrames(frames);
  return front.chat("Hello", { stream: true, ...fields });
}

/** A model server that sends frames on the test's command. */
function speak() {
  const reached = Promise.withResolvers<AskedRequest>();
  let say!: (text: string) => void;
  let close!: () => void;
  const body = new ReadableStream({
    start(controller) {
      say = (text) => controller.enqueue(encoder.encode(text));
      close = () => controller.close();
    },
  });
  front.upstream.script = (one) => {
    reached.resolve(one);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return { reached: reached.promise, say, close };
}

const deltas = (chunks: Chunk[]) => chunks.flatMap(({ choices }) => choices);
const choice = (delta: object, finish_reason: string | null = null) => ({
  index: 0,
  delta,
  finish_reason,
});

describe("the sequence", () => {
  test("gateway.events.p1 gateway.events.1 gateway.events.5 gateway.resources.chunk.p1 content, the finish reason with an empty delta, [DONE]", async () => {
    const chunks = await readChunks(
      await stream([writeFrame({ content: "He" }), writeFrame({ content: "llo" }), END]),
    );
    const head = {
      id: expect.stringMatching(/^chatcmpl-[0-9A-Za-z]{24}$/),
      object: "chat.completion.chunk",
      created: Math.floor(front.clock.now() / 1000),
      model: "svc",
    };
    expect(chunks as unknown[]).toEqual([
      { ...head, choices: [choice({ role: "assistant", content: "He" })] },
      { ...head, choices: [choice({ content: "llo" })] },
      { ...head, choices: [choice({}, "stop")] },
    ]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test("gateway.events.3 gateway.endpoints.chat_completions.stream_options the usage comes last, if the request asks for it", async () => {
    const frames = [writeFrame({ content: "Hi" }), END];
    const reached = await readChunks(
      await stream(frames, { stream_options: { include_usage: true } }),
    );
    expect(reached.map(({ usage }) => usage)).toEqual([undefined, undefined, USAGE]);
    expect(reached.map(({ choices }) => choices.length)).toEqual([1, 1, 0]);
    for (const stream_options of [undefined, null, {}, { include_usage: false }]) {
      const without = await readChunks(await stream(frames, { stream_options }));
      expect(without.length).toBe(2);
      expect(JSON.stringify(without)).not.toContain("usage");
    }
    expect(front.last().body.stream_options).toEqual({ include_usage: true });
  });

  test("gateway.events.5 text beside the finish reason becomes a chunk of its own", async () => {
    const chunks = await readChunks(await stream([writeFrame({ content: "Hi" }, "length"), DONE]));
    expect(deltas(chunks)).toEqual([
      choice({ role: "assistant", content: "Hi" }),
      choice({}, "length"),
    ]);
  });

  test("gateway.events.5 an empty reply sends its role before the finish reason", async () => {
    const chunks = await readChunks(await stream([writeFrame({ role: "assistant" }), END]));
    expect(deltas(chunks)).toEqual([
      choice({ role: "assistant", content: "" }),
      choice({}, "stop"),
    ]);
  });

  test("gateway.resources.chunk.p2 calls are streamed in deltas, one call per chunk, with id and name in the first", async () => {
    const piece = (...tool_calls: object[]) => writeFrame({ tool_calls });
    const chunks = await readChunks(
      await stream([
        piece(
          { index: 0, id: "a", type: "function", function: { name: "add", arguments: "" } },
          { index: 1, id: "b", type: "function", function: { name: "sub", arguments: "{" } },
        ),
        piece({ index: 1, id: "b", function: { name: "sub", arguments: "}" } }),
        piece({ index: 0, function: { arguments: '{"x":1}' } }),
        writeFrame({}, "tool_calls"),
        DONE,
      ]),
    );
    const first = (index: number, id: string, name: string, text: string) => ({
      tool_calls: [{ index, id, type: "function", function: { name, arguments: text } }],
    });
    const more = (index: number, text: string) => ({
      tool_calls: [{ index, function: { arguments: text } }],
    });
    expect(deltas(chunks)).toEqual([
      choice({ role: "assistant", ...first(0, "a", "add", "") }),
      choice(first(1, "b", "sub", "{")),
      choice(more(1, "}")),
      choice(more(0, '{"x":1}')),
      choice({}, "tool_calls"),
    ]);
  });

  test("contains neither the model's reasoning nor anything else of the server's", async () => {
    const extra = { system_fingerprint: "secret", usage: null, id: "secret", model: "secret" };
    const response = await stream([
      writeFrame({ role: "assistant", content: "", reasoning_content: "secret" }, null, extra),
      writeFrame({ reasoning: "secret", thinking: "secret" }, null, extra),
      writeFrame({ content: "42", reasoning: "secret", refusal: null }, null, extra),
      END,
    ]);
    const text = await response.text();
    expect(text).not.toContain("secret");
    expect(deltas(parseFrames(text).slice(0, -1) as Chunk[])).toEqual([
      choice({ role: "assistant", content: "42" }),
      choice({}, "stop"),
    ]);
  });

  test("gateway.endpoints.chat_completions.stream false and omitted do not stream", async () => {
    front.upstream.script = () => answerText("Hi");
    for (const fields of [{}, { stream: false }]) {
      const response = await front.chat("Hello", fields);
      expect(response.headers.get("content-type")).toStartWith("application/json");
      expect(front.last().body).not.toHaveProperty("stream");
    }
  });

  test("a model without the capability streams its reply as one content chunk", async () => {
    await using own = await startFront({ model: 'capabilities = ["tools"]' });
    const chunks = await readChunks(await own.chat("Hello", { stream: true }));
    expect(deltas(chunks)).toEqual([
      choice({ role: "assistant", content: "Hello" }),
      choice({}, "stop"),
    ]);
    expect(own.last().body).not.toHaveProperty("stream");
  });

  test("gateway.endpoints.p2 the reply's headers state its type and the request id", async () => {
    const headers = { "x-request-id": "my-request" };
    const response = await stub.chat("Hello", { stream: true }, { headers });
    expect(response.status).toBe(201);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-request-id": "my-request",
    });
    await response.text();
  });

  test("a chunk is forwarded as soon as it arrives", async () => {
    const server = speak();
    const replied = front.chat("Hello", { stream: true });
    await server.reached;
    server.say(writeFrame({ content: "One" }));
    const read = readLive(await replied);
    expect(await read()).toContain('"content":"One"');
    server.say(writeFrame({ content: "two" }));
    expect(await read()).toContain('"content":"two"');
    server.say(END);
    server.close();
    expect(await read()).toContain('"finish_reason":"stop"');
  });
});

describe("silence", () => {
  test("gateway.events.2 gateway.limits.keep_alive before the first chunk: 201 after 15 s, and a comment every 15 s", async () => {
    const server = speak();
    const replied = front.chat("Hello", { stream: true });
    await server.reached;
    await front.clock.advance(14_999);
    expect(Bun.peek.status(replied)).toBe("pending");
    await front.clock.advance(1);
    const response = await replied;
    expect(response.status).toBe(201);
    const read = readLive(response);
    expect(await read()).toBe(": keep-alive\n\n");
    for (let n = 0; n < 3; n++) {
      await front.clock.advance(15_000);
      expect(await read()).toBe(": keep-alive\n\n");
    }
    server.say(writeFrame({ content: "Hi" }));
    expect(await read()).toContain('"content":"Hi"');
    server.say(END);
    server.close();
    expect(await read()).toContain('"delta":{},"finish_reason":"stop"');
  });

  test("gateway.events.2 each chunk restarts the 15 s", async () => {
    const server = speak();
    const replied = front.chat("Hello", { stream: true });
    await server.reached;
    server.say(writeFrame({ content: "One" }));
    const read = readLive(await replied);
    expect(await read()).toContain("One");
    await front.clock.advance(10_000);
    server.say(writeFrame({ content: "two" }));
    expect(await read()).toContain("two");
    await front.clock.advance(14_999);
    const next = read();
    await front.clock.advance(0);
    expect(Bun.peek.status(next)).toBe("pending");
    await front.clock.advance(1);
    expect(await next).toBe(": keep-alive\n\n");
    server.say(END);
    server.close();
  });

  test("gateway.events.2 the model server's comments are not forwarded, and are not chunks", async () => {
    const server = speak();
    const replied = front.chat("Hello", { stream: true });
    await server.reached;
    server.say(": PROCESSING\n\n");
    await front.clock.advance(15_000);
    const read = readLive(await replied);
    expect(await read()).toBe(": keep-alive\n\n");
    server.say(writeFrame({ content: "Hi" }) + END);
    server.close();
    expect(await read()).toContain("Hi");
  });
});

describe("gateway.events.4 a failure", () => {
  const error = (value: object) => `data: ${JSON.stringify({ error: value })}\n\n`;

  test("before the stream begins is an ordinary error, also as the first frame under status 200", async () => {
    const busy = await stream([error({ code: 429, message: "slow" })]);
    await expectRefusal(busy, 429, "upstream_rate_limited");
    expect(busy.headers.has("retry-after")).toBe(false);
    await expectRefusal(await stream([": hi\n\n", error({ code: 500 })]), 502, "upstream_error");
    await expectRefusal(await stream([]), 502, "upstream_error");
    const long = await stream([error({ code: 400, message: "maximum context length is 5" })]);
    await expectRefusal(long, 400, "context_length_exceeded", "messages");
  });

  const LATE: [
    title: string,
    frames: string[],
    code: string,
    param: string | null,
    type: string,
  ][] = [
    [
      "of the server",
      [error({ code: 500, message: "CUDA" })],
      "upstream_error",
      null,
      "server_error",
    ],
    ["that is a dead connection", [], "upstream_error", null, "server_error"],
    ["that is garbage", ["data: {oops\n\n"], "upstream_error", null, "server_error"],
    [
      "gateway.errors.upstream_rate_limited that asks for slowing is upstream_error",
      [error({ code: 429 })],
      "upstream_error",
      null,
      "server_error",
    ],
    [
      "that would be a 503 is upstream_error",
      [error({ code: 404 })],
      "upstream_error",
      null,
      "server_error",
    ],
    ["that is a time-out", [error({ code: 504 })], "upstream_timeout", null, "server_error"],
    [
      "gateway.errors.context_length_exceeded of length",
      [error({ code: 400, message: "maximum context length is 5" })],
      "context_length_exceeded",
      "messages",
      "invalid_request_error",
    ],
  ];
  for (const [title, frames, code, param, type] of LATE) {
    test(`after it began appears in the stream, followed by [DONE]: ${title}`, async () => {
      const response = await stream([writeFrame({ content: "Hi" }), ...frames], {
        stream_options: { include_usage: true },
      });
      const received = await readFrames(response);
      expect(received).toEqual([
        expect.objectContaining({ choices: [choice({ role: "assistant", content: "Hi" })] }),
        {
          error: { message: expect.any(String), type, code, param },
          request_id: response.headers.get("x-request-id"),
        },
        "data: [DONE]",
      ] as never);
      expect(JSON.stringify(received)).not.toMatch(/CUDA|oops/);
    });
  }

  test("after a comment appears in the stream too", async () => {
    const server = speak();
    const replied = front.chat("Hello", { stream: true });
    await server.reached;
    await front.clock.advance(15_000);
    server.close();
    const frames = await readFrames(await replied);
    expect(frames).toEqual([
      ": keep-alive",
      expect.objectContaining({ error: expect.objectContaining({ code: "upstream_error" }) }),
      "data: [DONE]",
    ] as never);
  });

  test("of the built-in model, in the middle of its reply", async () => {
    const frames = await readFrames(await stub.chat("!tokens 8\n!cut", { stream: true }));
    expect(frames.length).toBe(6);
    expect(frames.slice(4)).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: "upstream_error" }) }),
      "data: [DONE]",
    ] as never);
  });
});
