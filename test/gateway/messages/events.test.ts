// Tests the events of a stream in Anthropic's dialect: their order, and whole blocks in turn.
import { expect, test } from "bun:test";
import { MessageEvents } from "../../../src/gateway/messages/events.ts";
import type { Chunk } from "../../../src/models/index.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { readEvents } from "./fixture.ts";

const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const ESTIMATE = 4;
const text = (text: string): Chunk => ({ kind: "text", text });
const call = (index: number, text: string, name?: string): Chunk =>
  name === undefined
    ? { kind: "call", index, arguments: text }
    : { kind: "call", index, id: `call_${name}`, name, arguments: text };

function play(pieces: readonly Chunk[], finishReason = "stop") {
  const events = new MessageEvents({ id: "msg_1", model: "svc" }, ESTIMATE);
  const frames = pieces.map((piece) => events.piece(piece)).join("");
  const end = events.finish({ ok: true, finishReason, usage: USAGE });
  return readEvents(`${events.begin()}${frames}${end}`);
}

const start = (index: number, content_block: object) => ({
  ...{ type: "content_block_start", index, content_block },
});
const startText = (index: number) => start(index, { type: "text", text: "", citations: null });
const startCall = (index: number, name: string) =>
  start(index, {
    ...{ type: "tool_use", id: `call_${name}`, name, input: {}, caller: { type: "direct" } },
  });
const addText = (index: number, text: string) => ({
  ...{ type: "content_block_delta", index, delta: { type: "text_delta", text } },
});
const addJson = (index: number, partial_json: string) => ({
  ...{ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } },
});
const stop = (index: number) => ({ type: "content_block_stop", index });

test("a text: the message begins with an estimate and ends with its reason and usage", () => {
  const events = play([text("Hel"), text("lo")]);
  expect(events).toEqual([
    {
      type: "message_start",
      message: {
        ...{ id: "msg_1", type: "message", role: "assistant", model: "svc", content: [] },
        ...{ stop_reason: null, stop_sequence: null, stop_details: null },
        ...{ container: null, diagnostics: null },
        usage: {
          ...{ input_tokens: 4, output_tokens: 0 },
          ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
          ...{ output_tokens_details: null, server_tool_use: null, cache_creation: null },
          ...{ inference_geo: null, service_tier: null, speed: null },
        },
      },
    },
    ...[startText(0), addText(0, "Hel"), addText(0, "lo"), stop(0)],
    {
      type: "message_delta",
      delta: {
        ...{ stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null },
      },
      usage: {
        ...{ input_tokens: 5, output_tokens: 3 },
        ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        ...{ output_tokens_details: null, server_tool_use: null },
      },
    },
    { type: "message_stop" },
  ]);
});

test.each([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["content_filter", "refusal"],
  ["something_else", "end_turn"],
])("the reason %s is %s", (reason, shown) => {
  expect(play([text("a")], reason).at(-2)).toMatchObject({ delta: { stop_reason: shown } });
});

const blocksOf = (pieces: readonly Chunk[]) => play(pieces).slice(1, -2);

test("an empty reply has no block", () => {
  expect(blocksOf([])).toEqual([]);
});

test("a text and two calls are three blocks, each whole before the next", () => {
  const pieces = [
    ...[text("One moment."), call(0, "", "weather"), call(0, '{"city":'), call(0, '"Sur"}')],
    call(1, "{}", "now"),
  ];
  expect(blocksOf(pieces)).toEqual([
    ...[startText(0), addText(0, "One moment."), stop(0)],
    ...[startCall(1, "weather"), addJson(1, '{"city":'), addJson(1, '"Sur"}'), stop(1)],
    ...[startCall(2, "now"), addJson(2, "{}"), stop(2)],
  ]);
});

test("a call without arguments has no delta", () => {
  expect(blocksOf([call(0, "", "now")])).toEqual([startCall(0, "now"), stop(0)]);
});

test("mixed pieces of two calls are sorted into whole blocks", () => {
  const pieces = [
    ...[call(0, "", "a"), call(1, "", "b"), call(0, '{"x":'), call(1, '{"y":')],
    ...[call(0, "1}"), call(1, "2}"), text("done")],
  ];
  expect(blocksOf(pieces)).toEqual([
    ...[startCall(0, "a"), addJson(0, '{"x":'), addJson(0, "1}"), stop(0)],
    ...[startCall(1, "b"), addJson(1, '{"y":2}'), stop(1)],
    ...[startText(2), addText(2, "done"), stop(2)],
  ]);
});

test("a text behind a call is a block of its own, and white space behind the call is dropped", () => {
  const pieces = [text("a"), call(0, "{}", "now"), text("b"), call(0, "\n")];
  expect(blocksOf(pieces)).toEqual([
    ...[startText(0), addText(0, "a"), stop(0)],
    ...[startCall(1, "now"), addJson(1, "{}"), stop(1)],
    ...[startText(2), addText(2, "b"), stop(2)],
  ]);
});

test("halves of a surrogate pair are joined, and a lone one is U+FFFD", () => {
  expect(blocksOf([text("a\ud83d"), text("\ude00"), text("b\ud83d")])).toEqual([
    ...[startText(0), addText(0, "a"), addText(0, "😀"), addText(0, "b"), addText(0, "\ufffd")],
    stop(0),
  ]);
});

test("an error and a ping are events, too", () => {
  const events = new MessageEvents({ id: "msg_1", model: "svc" }, ESTIMATE);
  expect(readEvents(events.keepAlive())).toEqual([{ type: "ping" }]);
  expect(readEvents(events.fail(apiError("upstream_timeout"), "req-1"))).toEqual([
    {
      type: "error",
      error: {
        type: "timeout_error",
        message: "The model server did not answer in time.",
        code: "upstream_timeout",
        details: { error_code: "upstream_timeout" },
      },
      request_id: "req-1",
    },
  ]);
});
