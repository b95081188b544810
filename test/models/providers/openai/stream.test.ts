// Tests streams as model servers send them, in every form and with every end.
import { describe, expect, test } from "bun:test";
import type { Chunk, Completion } from "../../../../src/models/providers/contract.ts";
import { answerFrames, DONE, USAGE, writeFrame } from "../../../support/upstream.ts";
import { connectReplica, joinText } from "../replica.ts";

const text = (piece: string): Chunk => ({ kind: "text", text: piece });
const frame = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const call = (...tool_calls: object[]) => writeFrame({ tool_calls });
const USAGE_FRAME = frame({ object: "chat.completion.chunk", choices: [], usage: USAGE });
const END = writeFrame({}, "stop") + USAGE_FRAME + DONE;
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const CALLED: Completion = { ...GOOD, finishReason: "tool_calls" };

async function read(...frames: string[]): Promise<{ heard: Chunk[]; completion: Completion }> {
  const { heard, completion } = connectReplica(() => answerFrames(frames)).ask({ stream: true });
  return { completion: await completion, heard };
}

describe("a stream is parsed", () => {
  const CASES: [title: string, frames: string[], heard: Chunk[], completion: Completion][] = [
    [
      "in the standard form",
      [writeFrame({ role: "assistant", content: "" }), writeFrame({ content: "a" }), END],
      [text("a")],
      GOOD,
    ],
    [
      "with text and the reason in one chunk (vLLM)",
      [writeFrame({ content: "a" }), writeFrame({ content: "b" }, "stop"), USAGE_FRAME, DONE],
      [text("a"), text("b")],
      GOOD,
    ],
    [
      "with the usage in the last chunk of the choice",
      [writeFrame({ content: "a" }, "stop", { usage: USAGE }), DONE],
      [text("a")],
      GOOD,
    ],
    [
      "with a usage that grows in every chunk",
      [
        writeFrame({ content: "a" }, null, { usage: { prompt_tokens: 7, completion_tokens: 1 } }),
        writeFrame({ content: "b" }, "stop", { usage: USAGE }),
        writeFrame({}, null, { usage: null }),
        DONE,
      ],
      [text("a"), text("b")],
      GOOD,
    ],
    [
      "without [DONE], but with a reason",
      [writeFrame({ content: "a" }), END.replace(DONE, "")],
      [text("a")],
      GOOD,
    ],
    [
      "without a reason, but with [DONE]",
      [writeFrame({ content: "a" }), USAGE_FRAME, DONE],
      [text("a")],
      GOOD,
    ],
    [
      "without a blank line at its end",
      [writeFrame({ content: "a" }), writeFrame({}, "stop"), USAGE_FRAME, "data: [DONE]"],
      [text("a")],
      GOOD,
    ],
    [
      "with comments and empty events in between",
      [": queued\n\n", "data:\n\n", writeFrame({ content: "a" }), ": \n", END],
      [text("a")],
      GOOD,
    ],
    ["without output", [END], [], GOOD],
    [
      "with what the model thought left out",
      [
        writeFrame({ role: "assistant", reasoning_content: "secret" }),
        writeFrame({ reasoning: "secret" }),
        writeFrame({ thinking: "secret" }),
        writeFrame({ content: "42", reasoning: "secret" }),
        END,
      ],
      [text("42")],
      GOOD,
    ],
    [
      "with malformed chunks",
      [
        frame({}),
        frame({ choices: null }),
        frame({ choices: [null] }),
        frame({ choices: [{ delta: null, error: null }], error: null }),
        frame({ choices: [{ delta: { content: 5, tool_calls: {} } }] }),
        frame({ choices: [{ delta: { tool_calls: [null, 5] } }] }),
        writeFrame({ content: "a" }),
        END,
      ],
      [text("a")],
      GOOD,
    ],
    [
      "with calls that end with `stop`",
      [
        call({ index: 0, id: "a", type: "function", function: { name: "add", arguments: "" } }),
        call({ index: 0, function: { arguments: "{}" } }),
        END,
      ],
      [
        { kind: "call", index: 0, id: "a", name: "add", arguments: "" },
        { kind: "call", index: 0, arguments: "{}" },
      ],
      CALLED,
    ],
    [
      "with text and two calls in one chunk, one after the other",
      [
        writeFrame({
          content: "Wait.",
          tool_calls: [
            { index: 0, id: "a", function: { name: "add", arguments: "{}" } },
            { index: 1, id: "b", function: { name: "sub", arguments: "{}" } },
          ],
        }),
        END,
      ],
      [
        text("Wait."),
        { kind: "call", index: 0, id: "a", name: "add", arguments: "{}" },
        { kind: "call", index: 1, id: "b", name: "sub", arguments: "{}" },
      ],
      CALLED,
    ],
    [
      "with text, a call and an error after [DONE]",
      [
        writeFrame({ content: "a" }),
        END,
        writeFrame({ content: "b", tool_calls: [{ id: "a", function: { name: "add" } }] }),
        frame({ error: "late" }),
      ],
      [text("a")],
      GOOD,
    ],
    [
      "with pieces of a second answer between its own",
      [
        frame({ choices: [{ index: 0, delta: { content: "a" } }] }),
        frame({ choices: [{ index: 1, delta: { content: "z" }, finish_reason: "length" }] }),
        frame({ choices: [{ index: 0, delta: { content: "b" } }] }),
        END,
      ],
      [text("a"), text("b")],
      GOOD,
    ],
    [
      "with an index in its first piece only, or in none",
      [
        frame({ choices: [{ index: 0, delta: { content: "a" } }] }),
        frame({ choices: [{ delta: { content: "b" } }] }),
        frame({ choices: [{ index: null, delta: { content: "c" } }] }),
        END,
      ],
      [text("a"), text("b"), text("c")],
      GOOD,
    ],
    [
      "with a reason that is a sentence",
      [writeFrame({ content: "a" }, "The worker at 10.9.8.7 had enough."), USAGE_FRAME, DONE],
      [text("a")],
      GOOD,
    ],
    [
      "with garbage, an error and a cut after its end",
      [
        writeFrame({ content: "a" }),
        END,
        "data: {oops\n\n",
        frame({ error: "late" }),
        'data: {"ha',
      ],
      [text("a")],
      GOOD,
    ],
  ];
  for (const [title, frames, heard, completion] of CASES) {
    test(title, async () => expect(await read(...frames)).toEqual({ heard, completion }));
  }
});

test("a stream split at any byte gives the same completion", async () => {
  const call_piece = { index: 0, id: "a", function: { name: "add", arguments: '{"x":"é"}' } };
  const whole =
    `: hi\r\n\r\n${writeFrame({ role: "assistant", content: "é€😀" })}${call(call_piece)}` +
    `${writeFrame({ content: " z" }, "stop").replaceAll("\n", "\r\n")}${USAGE_FRAME}data:[DONE]`;
  const bytes = new TextEncoder().encode(whole);
  let cut = 0;
  const replica = connectReplica(() => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.subarray(0, cut));
        controller.enqueue(bytes.subarray(cut));
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  for (; cut <= bytes.length; cut++) {
    const { heard, completion } = replica.ask({ stream: true });
    expect([cut, await completion]).toEqual([cut, CALLED]);
    expect([cut, heard]).toEqual([
      cut,
      [
        text("é€😀"),
        { kind: "call", index: 0, id: "a", name: "add", arguments: '{"x":"é"}' },
        text(" z"),
      ],
    ]);
  }
});

test("a stream without usage is estimated chunk by chunk, and rounded once", async () => {
  const { completion } = await read(
    writeFrame({ content: "Hello" }),
    writeFrame({ content: " there" }),
    call({ index: 0, id: "a", function: { name: "add", arguments: '{"x":1}' } }),
    writeFrame({}, "length"),
  );
  // Four letters are a token, of the 5 in the message and of the 18 sent.
  const usage = { prompt_tokens: 4 + 2, completion_tokens: 5, total_tokens: 11 };
  expect(completion).toEqual({ ok: true, finishReason: "length", usage, usageEstimated: true });
});

describe("a stream fails", () => {
  const error = (value: unknown) => frame({ error: value });
  const CASES: [title: string, frames: string[], code: string, said: string][] = [
    ["when it is empty", [], "upstream_error", ""],
    ["when it is HTML", ["<html>\n\n200 OK</html>"], "upstream_error", ""],
    ["when it ends in the middle", [writeFrame({ content: "a" })], "upstream_error", "a"],
    [
      "when it ends in the middle of a chunk",
      [writeFrame({ content: "a" }), 'data: {"ch'],
      "upstream_error",
      "a",
    ],
    [
      "when a chunk is no JSON",
      [writeFrame({ content: "a" }), "data: oops\n\n", END],
      "upstream_error",
      "a",
    ],
    ["when a chunk is no object", ["data: 5\n\n", END], "upstream_error", ""],
    ["with the server's words (TGI)", [error("Request failed")], "upstream_error", ""],
    ["with an error of status 400", [error({ code: 400, message: "bad" })], "upstream_error", ""],
    [
      "with an error after some text",
      [writeFrame({ content: "a" }), error({ code: 500 })],
      "upstream_error",
      "a",
    ],
    [
      "when its queue is full (SGLang)",
      [error({ message: "The request queue is full." })],
      "upstream_rate_limited",
      "",
    ],
    ["when it is overloaded", [error({ code: 429 })], "upstream_rate_limited", ""],
    [
      "in a field of its own, and a [DONE] after it (older llama.cpp)",
      [writeFrame({ content: "a" }), 'error: {"code":500,"message":"Compute error."}\n\n', DONE],
      "upstream_error",
      "a",
    ],
    [
      "for length, in a field of its own (older llama.cpp)",
      ['error: {"code":400,"message":"exceeds the available context size"}\n\n', DONE],
      "context_length_exceeded",
      "",
    ],
    [
      "when it is overloaded, by status",
      [error({ code: 503, message: "queue is full" })],
      "upstream_rate_limited",
      "",
    ],
    [
      "for length, with a status (vLLM)",
      [error({ code: 400, message: "This model's maximum context length is 5 tokens." })],
      "context_length_exceeded",
      "",
    ],
    [
      "for length, with a word for its code",
      [error({ code: "context_length_exceeded", message: "Too long." })],
      "context_length_exceeded",
      "",
    ],
    [
      "flat, as older servers write it",
      [frame({ object: "error", message: "longer than the model's context length", code: 400 })],
      "context_length_exceeded",
      "",
    ],
    [
      "with a code that is no status",
      [frame({ object: "error", code: 40303 })],
      "upstream_error",
      "",
    ],
  ];
  for (const [title, frames, code, said] of CASES) {
    test(title, async () => {
      const { heard, completion } = await read(...frames);
      expect(completion).toMatchObject({ ok: false, code });
      expect(joinText(heard)).toBe(said);
    });
  }
});

test("a pending onChunk holds the server back", async () => {
  const chunk = new TextEncoder().encode(writeFrame({ content: "a" }));
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (++sent <= 100) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const headers = { "content-type": "text/event-stream" };
  const replica = connectReplica(() => new Response(body, { headers }));
  const pending = Promise.withResolvers<void>();
  const { heard, completion, began } = replica.ask({ stream: true }, () => pending.promise);
  await began;
  const sent_then = sent;
  for (let turn = 0; turn < 20; turn++) await replica.clock.advance(0);
  expect(heard.length).toBe(1);
  expect(sent).toBeLessThanOrEqual(sent_then + 1);
  pending.resolve();
  expect(await completion).toMatchObject({ reason: "its stream ended in the middle" });
  expect(heard.length).toBe(100);
});

test("the next event of the same piece holds the server back, too", async () => {
  const two = writeFrame({ content: "a" }).repeat(2);
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (++sent <= 100) controller.enqueue(new TextEncoder().encode(two));
      else controller.close();
    },
  });
  const replica = connectReplica(
    () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
  );
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  const { heard, completion, began } = replica.ask({ stream: true }, () => gates[asked++]?.promise);
  await began;
  gates[0]!.resolve();
  for (let turn = 0; turn < 20; turn++) await replica.clock.advance(0);
  expect(heard.length).toBe(2);
  expect(sent).toBeLessThan(10);
  gates[1]!.resolve();
  await completion;
});

test("an error thrown by onChunk is no failure of the server", async () => {
  const bug = new Error("a bug");
  const server = () => answerFrames([writeFrame({ content: "a" }), END]);
  const rejects = connectReplica(server).ask({ stream: true }, () => Promise.reject(bug));
  await expect(rejects.completion).rejects.toBe(bug);
  const throws = connectReplica(server).ask({ stream: true }, () => {
    throw bug;
  });
  await expect(throws.completion).rejects.toBe(bug);
});

/** A stream that the test writes. */
function openStream(onChunk?: (chunk: Chunk) => void) {
  let write: (text: string) => void = () => {};
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      write = (text) => controller.enqueue(encoder.encode(text));
    },
  });
  const headers = { "content-type": "text/event-stream" };
  const replica = connectReplica(() => new Response(body, { headers }));
  const send = async (text: string) => {
    write(text);
    await new Promise(setImmediate);
    await replica.clock.advance(0);
  };
  return { replica, send, asked: replica.ask({ stream: true }, onChunk) };
}

test("a caller who leaves behind the end of a stream has left", async () => {
  const { send, asked } = openStream();
  await send(writeFrame({ content: "a" }, "stop", { usage: USAGE }));
  asked.caller.abort();
  expect(await asked.completion).toMatchObject({ code: "client_closed_request", usage: USAGE });
});

test("a stream that breaks has the server's usage, or none before its first chunk", async () => {
  const usage = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 };
  const broken = await read(writeFrame({ content: "a" }, null, { usage }));
  expect(broken.completion).toMatchObject({ ok: false, usage });
  const empty = await read(writeFrame({ role: "assistant" }, null, { usage }));
  expect(empty.completion).toMatchObject({ ok: false });
  expect(empty.completion.usage).toBeUndefined();
});

test("two seconds behind its end a stream is cut, whatever comes in them", async () => {
  const { replica, send, asked } = openStream();
  await send(writeFrame({ content: "a" }, "stop", { usage: USAGE }));
  await replica.clock.advance(1_500);
  await send(writeFrame({}, null, { usage: USAGE }) + DONE);
  expect(await asked.completion).toMatchObject({ ok: true });
  await replica.clock.advance(499);
  expect(replica.clock.pending()).toBe(1);
  await replica.clock.advance(1);
  expect(replica.clock.pending()).toBe(0);
});

test("the usage beside another choice counts", async () => {
  const other = { index: 1, delta: { content: "b" }, finish_reason: null };
  const frames = [writeFrame({ content: "a" }, "stop"), frame({ choices: [other], usage: USAGE })];
  expect(await read(...frames, DONE)).toEqual({ heard: [text("a")], completion: GOOD });
});

test("a stream may have 16 MB, and no more", async () => {
  const end = writeFrame({ content: "a" }, "stop", { usage: USAGE }) + DONE;
  const pad = (bytes: number) => `:${"x".repeat(bytes - end.length - 2)}\n`;
  expect((await read(pad(16_777_216) + end)).completion).toEqual(GOOD);
  expect((await read(pad(16_777_217) + end)).completion).toMatchObject({
    reason: "its stream is larger than 16 MB",
  });
});

test("a bug in onChunk leaves no timer behind", async () => {
  const { replica, send, asked } = openStream(() => {
    throw new Error("a bug");
  });
  const ended = asked.completion.catch(({ message }: Error) => message);
  await send(writeFrame({ content: "a" }));
  expect(await ended).toBe("a bug");
  expect(replica.clock.pending()).toBe(0);
});
