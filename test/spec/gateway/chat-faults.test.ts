// What becomes of a chat whose model server cannot be reached, breaks off or speaks nonsense, for a reply and a stream.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import {
  type Fault,
  LAST_CHUNK,
  STREAM_HEAD,
  sayAndEnd,
  sayAndReset,
  sayAndStay,
  writeChunk,
  writeHead,
  writeReply,
} from "../../support/fault-proxy.ts";
import {
  askThrough,
  CANARY,
  expectFree,
  type FaultFront,
  startFaultFront,
  writePage,
} from "./faults.ts";

let front: FaultFront;
beforeAll(async () => {
  front = await startFaultFront();
});
afterAll(() => front.stop());

const ERROR = "502 upstream_error";
const HELLO = '201 "Hello" stop';
const JSON_TYPE = "content-type: application/json";
const writeChoice = (choice: object) => JSON.stringify({ choices: [choice] });
const GOOD = writeChoice({ index: 0, message: { content: "Hello" }, finish_reason: "stop" });
/** What a connection must never give to the next caller. */
const STRAY = writeReply(GOOD.replace("Hello", CANARY));
const withLength = (length: number) =>
  writeHead("200 OK", [JSON_TYPE, `content-length: ${length}`]);
const CHUNKED = writeHead("200 OK", [JSON_TYPE, "transfer-encoding: chunked"]);
const page = (status: string) =>
  sayAndStay(
    writeReply(writePage(status), status, [
      "content-type: text/html",
      `server: ${CANARY}`,
      "retry-after: 7",
    ]),
  );
const half = (status: string) => `${writeHead(status, ["content-length: 99"])}{"error":"${CANARY}`;
const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

/** `kept`: the connection may rightly be used again, or it is not told here whether it is. */
type Case = [title: string, fault: Fault, outcome: string, kept?: "kept"];

async function hold(fault: Fault, stream: boolean, outcome: string, kept?: "kept") {
  const asked = await askThrough(front, fault, { stream });
  expect(asked.outcome).toBe(outcome);
  if (!kept) await asked.closed;
  await expectFree(front);
}

/** Each before a first piece, so that who asked for a reply and for a stream are told the same. */
const EARLY: Case[] = [
  ["hangs up without a byte", sayAndEnd(), ERROR],
  ["resets without a byte", sayAndReset(""), ERROR],
  ["hangs up in the status line", sayAndEnd("HTTP/1.1 20"), ERROR],
  ["hangs up in the head", sayAndEnd(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`), ERROR],
  ["resets in the head", sayAndReset(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`), ERROR],
  ["hangs up after the head", sayAndEnd(withLength(99)), ERROR],
  ["resets after the head", sayAndReset(withLength(99)), ERROR],
  ["hangs up after the head of a stream", sayAndEnd(STREAM_HEAD), ERROR],
  ["resets after the head of a stream", sayAndReset(STREAM_HEAD), ERROR],
  ["speaks another protocol", sayAndEnd(`SSH-2.0-${CANARY}\r\n\r\n`), ERROR],
  ["speaks in zeros", sayAndEnd("\0".repeat(1_000)), ERROR],
  ["speaks TLS", sayAndEnd("\x15\x03\x01\0\x02\x02\x46"), ERROR],
  ["has a word for its status", sayAndEnd(`HTTP/1.1 abc ${CANARY}\r\n\r\n`), ERROR],
  ["has status 999", sayAndEnd(writeReply(CANARY, "999 What")), ERROR],
  ["switches protocols", sayAndEnd(writeHead("101 Switching Protocols", ["upgrade: x"])), ERROR],
  [
    "has a head of a megabyte",
    sayAndStay(`HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(997)}\r\n`.repeat(1_000)}`),
    ERROR,
  ],
  ["has an empty body", sayAndStay(writeReply("")), ERROR, "kept"],
  ["answers 204", sayAndStay(writeHead("204 No Content", [])), ERROR, "kept"],
  ["is a page in HTML", page("200 OK"), ERROR, "kept"],
  ["is a proxy without a server", page("502 Bad Gateway"), ERROR, "kept"],
  ["is a proxy that is closed", page("503 Service Temporarily Unavailable"), ERROR, "kept"],
  ["is a proxy that waited", page("504 Gateway Time-out"), "504 upstream_timeout", "kept"],
  ["is a proxy that finds it too large", page("413 Request Entity Too Large"), ERROR, "kept"],
  ["says half a 500 and hangs up", sayAndEnd(half("500 No")), ERROR],
  ["has a chunk without a size", sayAndStay(`${CHUNKED}zz\r\n${CANARY}\r\n`), ERROR],
  ["has a chunk of negative size", sayAndStay(`${CHUNKED}-5\r\n${CANARY}\r\n`), ERROR],
  [
    "has a chunk of more than numbers tell",
    sayAndStay(`${CHUNKED}${"f".repeat(40)}\r\n${CANARY}`),
    ERROR,
  ],
  [
    "has a word for its length",
    sayAndStay(`${writeHead("200 OK", [JSON_TYPE, "content-length: many"])}${GOOD}`),
    ERROR,
  ],
  [
    "has two lengths",
    sayAndStay(
      `${writeHead("200 OK", [JSON_TYPE, "content-length: 5", "content-length: 6"])}${GOOD}`,
    ),
    ERROR,
  ],
];

describe("a model server that", () => {
  for (const [title, fault, ...rest] of EARLY) {
    for (const stream of [false, true]) {
      test(`gateway.errors.upstream_error ${title}${stream ? ", for a stream" : ""}`, () =>
        hold(fault, stream, ...rest));
    }
  }

  test("refuses connections, until it listens again", async () => {
    for (const stream of [false, true]) {
      front.proxy.refuse();
      expect((await askThrough(front, sayAndEnd(), { stream })).outcome).toBe(ERROR);
      front.proxy.restore();
      await expectFree(front);
    }
  });

  test("hangs up or resets before it is asked", async () => {
    for (const greeting of [sayAndEnd(), sayAndReset(""), sayAndEnd(`220 ${CANARY}\r\n`)]) {
      // Nothing is left that could be used again.
      front.proxy.refuse();
      front.proxy.restore();
      front.proxy.greeting = greeting;
      for (const stream of [false, true]) {
        expect((await askThrough(front, sayAndEnd(), { stream })).outcome).toBe(ERROR);
      }
      front.proxy.greeting = null;
      await expectFree(front);
    }
  });
});

describe("a whole reply", () => {
  const REPLIES: Case[] = [
    [
      "that is half there when it hangs up",
      sayAndEnd(withLength(GOOD.length) + GOOD.slice(0, 40)),
      ERROR,
    ],
    [
      "that is half there when it resets",
      sayAndReset(withLength(GOOD.length) + GOOD.slice(0, 40)),
      ERROR,
    ],
    ["that is longer than its length", sayAndStay(withLength(GOOD.length - 9) + GOOD), ERROR],
    ["that is shorter than its length", sayAndEnd(withLength(GOOD.length + 9) + GOOD), ERROR],
    ["cut in a chunk", sayAndEnd(CHUNKED + writeChunk(GOOD).slice(0, 40)), ERROR],
    ["cut in front of the last chunk", sayAndEnd(CHUNKED + writeChunk(GOOD)), ERROR],
    ["of two documents", sayAndStay(writeReply(GOOD + GOOD)), ERROR, "kept"],
    ["with a zero in it", sayAndStay(writeReply(GOOD.replace("Hello", "\0"))), ERROR, "kept"],
    [
      "in UTF-16",
      sayAndStay(withLength(2 * GOOD.length), Buffer.from(GOOD, "utf16le")),
      ERROR,
      "kept",
    ],
    [
      "whose message is a text",
      sayAndStay(writeReply(writeChoice({ message: CANARY }))),
      ERROR,
      "kept",
    ],
    [
      "whose message is null",
      sayAndStay(writeReply(writeChoice({ message: null }))),
      ERROR,
      "kept",
    ],
    ["without a choice", sayAndStay(writeReply('{"choices":[]}')), ERROR, "kept"],
    [
      "with a delta in place of its message",
      sayAndStay(writeReply(writeChoice({ delta: {} }))),
      ERROR,
      "kept",
    ],
    [
      "that is an error nested beyond writing",
      sayAndStay(writeReply(`{"error":${DEEP}}`)),
      ERROR,
      "kept",
    ],

    ["until the connection ends", sayAndEnd(writeHead("200 OK", [JSON_TYPE]) + GOOD), HELLO],
    ["of HTTP/1.0", sayAndEnd(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${GOOD}`), HELLO],
    [
      "after 100 Continue",
      sayAndStay(writeHead("100 Continue", []) + writeReply(GOOD)),
      HELLO,
      "kept",
    ],
    [
      "after early hints",
      sayAndStay(writeHead("103 Early Hints", ["link: x"]), writeReply(GOOD)),
      HELLO,
      "kept",
    ],
    [
      "after three times 102",
      sayAndStay(...Array(3).fill(writeHead("102 Wait", [])), writeReply(GOOD)),
      HELLO,
      "kept",
    ],
    ["in chunks", sayAndStay(CHUNKED, ...[...GOOD].map(writeChunk), LAST_CHUNK), HELLO, "kept"],
    [
      "in chunks with extensions and trailers",
      sayAndStay(
        `${CHUNKED}${GOOD.length.toString(16)};x="${CANARY}"\r\n${GOOD}\r\n0\r\nx-trailer: ${CANARY}\r\n\r\n`,
      ),
      HELLO,
      "kept",
    ],
    [
      "in chunks of sizes in capitals and with zeros in front",
      sayAndStay(
        `${CHUNKED}000${GOOD.length.toString(16).toUpperCase()}\r\n${GOOD}\r\n000\r\n\r\n`,
      ),
      HELLO,
      "kept",
    ],
    ["without a word behind its status", sayAndStay(writeReply(GOOD, "200")), HELLO, "kept"],
    [
      "with fields in capitals and blanks around their values",
      sayAndStay(
        `HTTP/1.1 200 OK\r\nCONTENT-TYPE:\tapplication/json \r\nCONTENT-LENGTH:  ${GOOD.length}  \r\n\r\n${GOOD}`,
      ),
      HELLO,
      "kept",
    ],
    [
      "whose connection is not to be kept",
      sayAndStay(writeReply(GOOD, "200 OK", ["connection: close"])),
      HELLO,
    ],
    ["behind a byte order mark", sayAndStay(writeReply(`\ufeff${GOOD}`)), HELLO, "kept"],
    [
      "in chunks behind a byte order mark",
      sayAndStay(CHUNKED, writeChunk(`\ufeff${GOOD}`), LAST_CHUNK),
      HELLO,
      "kept",
    ],
    [
      "of nothing but ends of thoughts",
      sayAndStay(writeReply(GOOD.replace("Hello", "</think>".repeat(300_000)))),
      '201 "" stop',
      "kept",
    ],
    [
      "with a reason that is a number",
      sayAndStay(writeReply(GOOD.replace('"stop"', "7"))),
      HELLO,
      "kept",
    ],
    [
      "with a reason that talks",
      sayAndStay(writeReply(GOOD.replace("stop", CANARY))),
      HELLO,
      "kept",
    ],
    [
      "with a usage below zero",
      sayAndStay(
        writeReply(GOOD.replace("]}", '],"usage":{"prompt_tokens":-1,"completion_tokens":1e300}}')),
      ),
      HELLO,
      "kept",
    ],
    ["with another one behind it", sayAndStay(writeReply(GOOD) + STRAY), HELLO, "kept"],
    [
      "in chunks with another one behind it",
      sayAndStay(CHUNKED + writeChunk(GOOD) + LAST_CHUNK + STRAY),
      HELLO,
      "kept",
    ],
    ["that follows later, unasked", sayAndStay(writeReply(GOOD), STRAY), HELLO, "kept"],
  ];
  for (const [title, fault, ...rest] of REPLIES) test(title, () => hold(fault, false, ...rest));

  test("that comes byte by byte", async () => {
    const fault: Fault = async (link) => {
      for (const byte of writeReply(GOOD)) {
        await link.say(byte);
        await link.turn();
      }
    };
    await hold(fault, false, HELLO, "kept");
  });

  test("in gzip, although plain text was asked for, or said to be, is read or refused, and never told packed", async () => {
    for (const body of [gzipSync(GOOD), Buffer.from(GOOD)]) {
      const fields = [JSON_TYPE, "content-encoding: gzip", `content-length: ${body.length}`];
      let request = "";
      const fault: Fault = async (link) => {
        request = link.request;
        await sayAndStay(writeHead("200 OK", fields), body)(link);
      };
      const { outcome } = await askThrough(front, fault);
      expect(request.toLowerCase()).toContain("accept-encoding: identity");
      expect([HELLO, ERROR]).toContain(outcome);
      await expectFree(front);
    }
  });

  test("with ten thousand calls, and with arguments nested beyond writing, is told on", async () => {
    const calls = Array.from({ length: 10_000 }, (_, n) => ({
      index: n * 1e9,
      id: "a",
      function: { name: "x", arguments: "{}" },
    }));
    const many = writeReply(writeChoice({ message: { tool_calls: calls } }));
    expect((await askThrough(front, sayAndStay(many))).outcome).toBe("201 null tool_calls");
    const deep = writeReply(
      `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":${DEEP}}}]}}]}`,
    );
    expect((await askThrough(front, sayAndStay(deep))).outcome).toBe("201 null tool_calls");
  });
});

test("a connection that was kept and is closed just as it is used again costs nobody an answer", async () => {
  for (const breakOff of [sayAndEnd(), sayAndReset("")]) {
    for (const stream of [false, true]) {
      await expectFree(front);
      const first = front.proxy.connections.at(-1)!;
      const fault: Fault = (link) => (link.connection === first ? breakOff(link) : link.pass());
      expect((await askThrough(front, fault, { stream })).outcome).toBe(HELLO);
      expect(front.proxy.connections.at(-1)!.requests).toBe(1);
      await first.closed;
      expect(front.proxy.connections.at(-1)).not.toBe(first);
    }
  }
});
