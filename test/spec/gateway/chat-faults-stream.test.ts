// Streams whose model server dies or sends invalid data in the middle, split at any byte.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import {
  type Fault,
  type Link,
  STREAM_HEAD,
  sayAndEnd,
  sayAndStay,
  writeChunk,
  writeHead,
  writeReply,
  writeStreamReply,
} from "../../support/fault-proxy.ts";
import { CANARY, writePage } from "../../support/reply-faults.ts";
import { DONE, USAGE, writeFrame } from "../../support/upstream.ts";
import {
  askThrough,
  collect,
  expectFree,
  type FaultFront,
  readOutcome,
  startFaultFront,
} from "./faults.ts";
import { readChunks } from "./front.ts";

let front: FaultFront;
beforeAll(async () => {
  front = await startFaultFront();
});
afterAll(() => front.stop());

const frame = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const error = (value: unknown) => frame({ error: value });
const HEL = writeFrame({ role: "assistant", content: "Hel" });
const LO = writeFrame({ content: "lo" });
const STOP = writeFrame({}, "stop");
const BEGUN = STREAM_HEAD + writeChunk(HEL);
const LO_STOP = writeFrame({ content: "lo" }, "stop");
const EVENTS = "content-type: text/event-stream";
const PLAIN = writeHead("200 OK", [EVENTS]);
const ANNOUNCED = writeHead("200 OK", [EVENTS, "content-length: 9999"]);
const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const words = { message: `CUDA error: ${CANARY}`, type: "server_error" };

const WHOLE = '201 "Hello" stop';
const HALF = '201 "Hel" upstream_error';
const ERROR = "502 upstream_error";

type Case = [title: string, fault: Fault, outcome: string, kept?: "kept"];
async function hold(fault: Fault, outcome: string, kept?: "kept") {
  const reply = await askThrough(front, fault, { stream: true });
  expect(reply.outcome).toBe(outcome);
  if (!kept) await reply.closed;
  await expectFree(front);
}
/** A whole stream of frames with its proper end. */
const stream = (...frames: string[]) => sayAndStay(writeStreamReply(...frames));
/** A stream of frames that would go on. */
const goOn = (...frames: string[]) => sayAndStay(STREAM_HEAD + frames.map(writeChunk).join(""));

describe("gateway.errors.upstream_error a stream that", () => {
  const BROKEN: Case[] = [
    ["ends properly without an end", stream(HEL, LO), '201 "Hello" upstream_error', "kept"],
    [
      "is longer than its length",
      sayAndStay(writeHead("200 OK", [EVENTS, `content-length: ${HEL.length}`]) + HEL + STOP),
      HALF,
    ],
    ["turns to garbage", goOn(HEL, `data: {${CANARY}\n\n`, STOP, DONE), HALF],
    ["turns to a page in HTML", stream(HEL, writePage("502 Bad Gateway")), HALF, "kept"],
    ["turns to zeros", stream(HEL, "\0".repeat(5_000)), HALF, "kept"],
    ["has an event that is a list", goOn(HEL, "data: []\n\n", STOP), HALF],
    ["has an event that is a number", goOn(HEL, "data: 5\n\n", STOP), HALF],
    ["has an event of two documents", goOn(HEL, `data: {}\ndata: {}\n\n`, STOP), HALF],
    ["sends an error", goOn(HEL, error(words), DONE), HALF],
    ["sends an error as a string", goOn(HEL, error(CANARY), DONE), HALF],
    ["sends an error without text", goOn(HEL, error({}), DONE), HALF],
    ["sends a flat error", goOn(HEL, frame({ object: "error", ...words, code: 500 }), DONE), HALF],
    ["sends an error nested too deep to serialise", goOn(HEL, `data: {"error":${DEEP}}\n\n`), HALF],
    [
      "sends an error in a field of that name",
      goOn(HEL, `error: ${JSON.stringify(words)}\n\n`, DONE),
      HALF,
    ],
    ["asks for slowing in the middle", goOn(HEL, error({ code: 429, ...words })), HALF],
    [
      "times out in the middle",
      goOn(HEL, error({ code: 504, ...words })),
      '201 "Hel" upstream_timeout',
    ],
    [
      "finds the request too long in the middle",
      goOn(HEL, error({ code: 400, message: "maximum context length" })),
      '201 "Hel" context_length_exceeded',
    ],
    ["sends an error first", goOn(error(words), DONE), ERROR],
    ["sends an error after comments", goOn(": queued\n\n", error(words), DONE), ERROR],
    [
      "sends an error first, in a field of that name",
      goOn(`error: ${JSON.stringify(words)}\n\n`, DONE),
      ERROR,
    ],
    ["is a page in HTML", stream(writePage("Welcome")), ERROR, "kept"],
    ["is nothing but comments", stream(": a\n\n", ": b\n\n"), ERROR, "kept"],
    [
      "is not a stream, neither by content nor by type",
      sayAndEnd(`${writeHead("200 OK", ["content-type: text/plain"])}${writeReply("{}")}`),
      ERROR,
    ],
    [
      "is a whole error in JSON",
      sayAndStay(writeReply(JSON.stringify({ error: words }))),
      ERROR,
      "kept",
    ],
  ];
  for (const [title, ...rest] of BROKEN) test(title, () => hold(...rest));
});

describe("a stream is complete although", () => {
  const index = (n: number, content: string) =>
    writeFrame({}, null, { choices: [{ index: n, delta: { content } }] });
  const JSON_REPLY = JSON.stringify({
    choices: [{ message: { content: "Hello" }, finish_reason: "stop" }],
  });
  const FINE: Case[] = [
    ["it has no type", sayAndEnd(writeHead("200 OK", []) + HEL + LO + DONE), WHOLE],
    ["it begins with a byte order mark", stream(`\ufeff${HEL}`, LO, STOP, DONE), WHOLE, "kept"],
    [
      "it ends its lines in every way",
      stream(HEL.replaceAll("\n", "\r"), LO.replaceAll("\n", "\r\n"), ": x\r\n\n", STOP, DONE),
      WHOLE,
      "kept",
    ],
    [
      "it has no space after `data:`",
      stream(...[HEL, LO, STOP, DONE].map((one) => one.replace(": ", ":"))),
      WHOLE,
      "kept",
    ],
    ["it sends [DONE] twice", stream(HEL, LO, STOP, DONE, DONE), WHOLE, "kept"],
    [
      "it continues after [DONE]",
      stream(HEL, LO, DONE, writeFrame({ content: CANARY }), error(words)),
      WHOLE,
      "kept",
    ],
    ["it sends an error after its end", stream(HEL, LO, STOP, error(words)), WHOLE, "kept"],
    [
      "it sends garbage after its end",
      stream(HEL, LO, STOP, "data: {oops\n\n", "\0\0"),
      WHOLE,
      "kept",
    ],
    [
      "it mixes in a second answer",
      stream(index(0, "Hel"), index(1, CANARY), index(0, "lo"), STOP, DONE),
      WHOLE,
      "kept",
    ],
    ["it does not count from 0", stream(index(3, "Hel"), index(3, "lo"), DONE), WHOLE, "kept"],
    [
      "its chunks contain invalid JSON",
      stream(
        frame({ choices: {} }),
        frame({ choices: [5] }),
        frame({ choices: [{ delta: "x" }] }),
        HEL,
        frame({ error: null }),
        LO,
        STOP,
      ),
      WHOLE,
      "kept",
    ],
    [
      "its reason is an object",
      stream(HEL, LO, writeFrame({}, { stop: CANARY } as never), DONE),
      WHOLE,
      "kept",
    ],
    ["its reason talks", stream(HEL, LO, writeFrame({}, CANARY), DONE), WHOLE, "kept"],
    [
      "its usage is absurd",
      stream(
        HEL,
        LO,
        writeFrame({}, "stop", { usage: { prompt_tokens: -1, completion_tokens: "many" } }),
        DONE,
      ),
      WHOLE,
      "kept",
    ],
    ["it is one JSON reply", sayAndStay(writeReply(JSON_REPLY)), WHOLE, "kept"],
    [
      "it is one JSON reply, by a type in capitals",
      sayAndStay(
        writeReply(JSON_REPLY).replace("application/json", "Application/JSON; charset=utf-8"),
      ),
      WHOLE,
      "kept",
    ],
    [
      "another reply follows it",
      sayAndStay(
        writeStreamReply(HEL, LO, STOP, DONE) + writeReply(JSON_REPLY.replace("Hello", CANARY)),
      ),
      WHOLE,
      "kept",
    ],
    [
      "a frame is a megabyte",
      stream(writeFrame({ content: "Hello" }, null, { padding: "x".repeat(1 << 20) }), STOP),
      WHOLE,
      "kept",
    ],
  ];
  for (const [title, ...rest] of FINE) test(title, () => hold(...rest));

  test("it arrives in gzip, unrequested: it is decoded or refused, and never forwarded compressed", async () => {
    const packed = gzipSync(HEL + LO + STOP + DONE);
    const fault = sayAndEnd(writeHead("200 OK", [EVENTS, "content-encoding: gzip"]), packed);
    const { outcome, closed } = await askThrough(front, fault, { stream: true });
    expect([WHOLE, ERROR]).toContain(outcome);
    await closed;
    await expectFree(front);
  });

  test("it has ten thousand calls with arbitrary indexes, and arguments nested too deep to serialise", async () => {
    const calls = Array.from({ length: 10_000 }, (_, n) => ({
      index: n * 1e9,
      id: "a",
      function: { name: "x", arguments: "{}" },
    }));
    const deep = `data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"y","arguments":${DEEP}}}]}}]}\n\n`;
    front.proxy.fault = stream(writeFrame({ tool_calls: calls }), deep, STOP, DONE);
    const chunks = await readChunks(await front.chat("Hi", { stream: true }));
    const received = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? []);
    front.proxy.fault = null;
    expect(received.map((one) => one.index)).toEqual(Array.from({ length: 10_001 }, (_, n) => n));
    expect(new Set(received.map(({ id }) => id)).size).toBe(10_001);
    // JSON text, and no object: `{}` would be a call without arguments, which could run.
    expect(received.at(-1)!.function).toEqual({ name: "y", arguments: '"nested too deep"' });
  });
});

describe("a stream that breaks off", () => {
  // A broken connection discards unread bytes, so it breaks after the caller has them.
  const BREAKS: [where: string, said: string, next: string, outcome: string][] = [
    ["in the middle", BEGUN, "", HALF],
    ["in the middle, without chunks", PLAIN + HEL, "", HALF],
    ["before its announced length", ANNOUNCED + HEL, "", HALF],
    ["in a frame", BEGUN, writeChunk(LO.slice(0, 30)), HALF],
    ["in a chunk", BEGUN, writeChunk(LO).slice(0, 30), HALF],
    ["in the size of a chunk", BEGUN, "4", HALF],
    ["after a chunk without a size", BEGUN, `zz\r\n${LO}\r\n`, HALF],
    ["after its finish reason", STREAM_HEAD + writeChunk(HEL + LO_STOP), "", WHOLE],
    ["after [DONE]", STREAM_HEAD + writeChunk(HEL + LO + DONE), "", WHOLE],
    ["after [DONE], before its announced length", ANNOUNCED + HEL + LO + DONE, "", WHOLE],
    [
      "in a last frame after its finish reason",
      BEGUN + writeChunk(LO_STOP),
      writeChunk("data: [DO"),
      WHOLE,
    ],
  ];
  for (const [where, said, next, outcome] of BREAKS) {
    for (const how of ["end", "reset"] as const) {
      test(`${where}, properly or not: ${how}`, async () => {
        const met = Promise.withResolvers<Link>();
        front.proxy.fault = async (link) => {
          await link.say(said);
          met.resolve(link);
        };
        const response = await front.chat("Hi", { stream: true });
        const collected = collect(response);
        await collected.until(outcome === WHOLE ? '"lo"' : '"Hel"');
        front.proxy.fault = null;
        const link = await met.promise;
        await link.say(next);
        link[how]();
        expect(await readOutcome(await collected.whole())).toBe(outcome);
        await link.connection.closed;
        await expectFree(front);
      });
    }
  }
});

describe("a stream is the same wherever its bytes are split", () => {
  const call = {
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "add", arguments: "" },
  };
  /** The same reply as sent by vLLM, by a proxy in between, and with calls. */
  const REPLY = Buffer.from(
    writeStreamReply(
      ": ping\r\n\r\n",
      writeFrame({ role: "assistant", content: "" }),
      writeFrame({ content: "é€😀" }).replaceAll("\n", "\r\n") +
        writeFrame({ content: '\u2028 \\ "' }),
      writeFrame({ tool_calls: [call] }),
      writeFrame({ tool_calls: [{ index: 0, function: { arguments: '{"x":"ü"}' } }] }),
      writeFrame({}, "tool_calls"),
      frame({ choices: [], usage: USAGE }),
      DONE,
    ),
  );
  const ask = async (fault: Fault) => {
    front.proxy.fault = fault;
    const fields = { stream: true, stream_options: { include_usage: true } };
    const chunks = await readChunks(await front.chat("Hi", fields));
    return chunks.map(
      ({ choices: [choice], usage }) =>
        choice?.delta.tool_calls?.[0]?.function.arguments ??
        choice?.delta.content ??
        choice?.finish_reason ??
        usage,
    );
  };
  const EXPECTED = ["é€😀", '\u2028 \\ "', "", '{"x":"ü"}', "tool_calls", USAGE] as unknown[];

  test("in two", async () => {
    for (let cut = 0; cut <= REPLY.length; cut++) {
      const received = await ask(sayAndStay(REPLY.subarray(0, cut), REPLY.subarray(cut)));
      expect([cut, received] as unknown).toEqual([cut, EXPECTED]);
    }
  }, 120_000);

  test("at every byte", async () => {
    const bytes = Array.from(REPLY, (_, n) => REPLY.subarray(n, n + 1));
    expect((await ask(sayAndStay(...bytes))) as unknown).toEqual(EXPECTED);
  });
});
