// Tests the parser of server-sent events with every line end and every split.
import { describe, expect, test } from "bun:test";
import type { Completion } from "../../../../src/models/index.ts";
import {
  SseParser,
  type StreamContext,
  StreamReader,
} from "../../../../src/models/providers/openai/stream.ts";
import { createAsk } from "../../../support/ask.ts";

const encoder = new TextEncoder();

/** The events of a stream that arrives in these pieces. */
function read(pieces: Iterable<Uint8Array>): string[] {
  const reader = new SseParser();
  const events: string[] = [];
  for (const piece of pieces) events.push(...reader.push(piece));
  return [...events, ...reader.end()];
}

const STREAMS: [title: string, text: string, events: string[]][] = [
  ["line feeds", "data: a\n\ndata: b\n\n", ["a", "b"]],
  ["carriage returns and line feeds", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
  ["lines of one event", "data: a\r\ndata: b\r\n\r\n", ["a\nb"]],
  ["carriage returns alone", "data: a\r\rdata: b\r\r", ["a", "b"]],
  ["mixed line ends", "data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", ["a", "b", "c"]],
  ["no blank line at the end", "data: a\n\ndata: b", ["a", "b"]],
  ["a line end but no blank line at the end", "data: a\n\ndata: b\r\n", ["a", "b"]],
  ["no space after the colon", "data:a\n\ndata:  b\n\n", ["a", " b"]],
  ["comments", ": keep-alive\n\ndata: a\n:\n: x\n\n: y\n\n", ["a"]],
  ["data of several lines", "data: a\ndata: b\ndata:\ndata: c\n\n", ["a\nb\n\nc"]],
  ["other fields", "event: chunk\nid: 1\nretry: 5\ndata: a\ndatabase: x\n\n", ["a"]],
  [
    "an error in a field of that name",
    'error: {"code":5}\n\ndata: a\n\n',
    ['{"error": {"code":5}}', "a"],
  ],
  ["events without data", "event: ping\n\ndata\n\ndata:\n\ndata: a\n\n\n\n", ["a"]],
  ["a mark of byte order", "\ufeffdata: a\n\n", ["a"]],
  ["letters of two to four bytes", "data: é€😀\n\ndata: سلام\r\n\r\n", ["é€😀", "سلام"]],
  ["nothing", "", []],
];

describe("a stream is parsed alike, split at any position:", () => {
  for (const [title, text, events] of STREAMS) {
    test(title, () => {
      const bytes = encoder.encode(text);
      expect(read([bytes])).toEqual(events);
      expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
        expect([cut, read(pieces)]).toEqual([cut, events]);
      }
    });
  }
});

test("an event is emitted as soon as its blank line arrives", () => {
  const reader = new SseParser();
  expect(reader.push(encoder.encode("data: a\r\n\r"))).toEqual(["a"]);
  expect(reader.push(encoder.encode("\ndata: b\n"))).toEqual([]);
  expect(reader.push(encoder.encode("\n"))).toEqual(["b"]);
  expect(reader.end()).toEqual([]);
});

test("invalid UTF-8 does not stop the stream", () => {
  expect(read([Uint8Array.of(...encoder.encode("data: a"), 0xff, 0x0a, 0x0a)])).toEqual([
    "a\ufffd",
  ]);
});

test("a caller that holds back one chunk after the other gets each after the one before", async () => {
  const heard: string[] = [];
  const reads: (() => void)[] = [];
  const done = Promise.withResolvers<Completion>();
  const context = {
    request: { ...createAsk("Hello"), stream: true },
    onChunk(chunk: { text: string }) {
      heard.push(chunk.text);
      return new Promise<void>((resolve) => reads.push(resolve));
    },
    timeouts: { allow() {}, hold() {}, release() {} },
    exchange: { pause() {}, resume() {} },
    ...{ finish: done.resolve, settle: done.resolve, fail: done.reject },
  } as unknown as StreamContext;
  const reader = new StreamReader({ header: () => null } as never, context);
  const say = (content: string) => {
    const delta = { choices: [{ index: 0, delta: { content } }] };
    reader.take(Buffer.from(`data: ${JSON.stringify(delta)}\n\n`));
  };
  for (const text of ["a", "b"]) say(text);
  const readNext = async () => {
    reads.shift()!();
    for (let turn = 0; turn < 9; turn++) await null;
  };
  await readNext();
  say("c");
  expect(heard).toEqual(["a", "b"]);
  await readNext();
  expect(heard).toEqual(["a", "b", "c"]);
  await readNext();
  reader.take(Buffer.from("data: [DONE]\n\n"));
  expect(await done.promise).toMatchObject({ ok: true, finishReason: "stop" });
});

test("an empty piece between the halves of a line end changes nothing", () => {
  const pieces = ["data: a\r", "", "\ndata: b\r\n\r\n"].map((text) => encoder.encode(text));
  expect(read(pieces)).toEqual(["a\nb"]);
});
