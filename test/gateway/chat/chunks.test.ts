// Tests that the chunks, serialized by hand for speed, are exactly the expected JSON.
import { expect, test } from "bun:test";
import { createChunkWriter } from "../../../src/gateway/chat/chunks.ts";

const HEAD = { id: 'a"b', object: "chat.completion.chunk", created: 7, model: "svc" };
const start = () => createChunkWriter(HEAD.id, HEAD.created, HEAD.model);
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...HEAD,
  choices: [{ index: 0, delta, finish_reason }],
});

test("the first delta has the role, for text and for a call", () => {
  const text = start();
  expect(JSON.parse(text.piece({ kind: "text", text: 'é"\n\u2028' }))).toEqual(
    chunk({ role: "assistant", content: 'é"\n\u2028' }),
  );
  expect(JSON.parse(text.piece({ kind: "text", text: "b" }))).toEqual(chunk({ content: "b" }));
  const call = start();
  const piece = { kind: "call", index: 0, id: "c", name: "add", arguments: "{" } as const;
  expect(JSON.parse(call.piece(piece))).toEqual(
    chunk({
      role: "assistant",
      tool_calls: [
        { index: 0, id: "c", type: "function", function: { name: "add", arguments: "{" } },
      ],
    }),
  );
  expect(JSON.parse(call.piece({ kind: "call", index: 0, arguments: "}" }))).toEqual(
    chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
  );
});

test("the delta beside the finish reason is empty; an empty stream has a chunk for the role", () => {
  const frames = start();
  frames.piece({ kind: "text", text: "a" });
  expect(frames.finish("stop").map((text) => JSON.parse(text))).toEqual([chunk({}, "stop")]);
  expect(
    start()
      .finish("length")
      .map((text) => JSON.parse(text)),
  ).toEqual([chunk({ role: "assistant", content: "" }), chunk({}, "length")]);
});

test("gateway.resources.tool_call.p1 a call without arguments gets an empty object at the end", () => {
  const called = start();
  called.piece({ kind: "call", index: 0, id: "c", name: "now", arguments: "" });
  called.piece({ kind: "call", index: 1, id: "d", name: "add", arguments: "" });
  called.piece({ kind: "call", index: 1, arguments: "{}" });
  expect(called.finish("tool_calls").map((text) => JSON.parse(text))).toEqual([
    chunk({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }),
    chunk({}, "tool_calls"),
  ]);
});

test("a surrogate pair split over two chunks is sent whole, and a lone half as U+FFFD", () => {
  const frames = start();
  const texts = ["a\ud83d", "\ude00b", "\ud83d c", "\ud83d"].map((text) =>
    JSON.parse(frames.piece({ kind: "text", text })),
  );
  expect(texts.map(({ choices }) => choices[0].delta.content)).toEqual([
    "a",
    "😀b",
    "\ufffd c",
    "",
  ]);
  const head = { kind: "call", index: 0, id: "c", name: "add" } as const;
  frames.piece({ ...head, arguments: '{"a":"\ud83d' });
  const rest = JSON.parse(frames.piece({ kind: "call", index: 0, arguments: '\ude00"}' }));
  expect(rest).toEqual(chunk({ tool_calls: [{ index: 0, function: { arguments: '😀"}' } }] }));
  frames.piece({ kind: "call", index: 0, arguments: "\ud83d" });
  expect(frames.finish("stop").map((text) => JSON.parse(text))).toEqual([
    chunk({ content: "\ufffd" }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "\ufffd" } }] }),
    chunk({}, "stop"),
  ]);
});

test("a chunk without choices has the usage", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  expect(JSON.parse(start().usage(usage))).toEqual({ ...HEAD, choices: [], usage });
});
