// Chats whose model server is unreachable, breaks off or sends invalid data, for a reply and a
// stream.
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
  CANARY,
  CHUNKED,
  HEADLESS,
  JSON_TYPE,
  listBroken,
  listForms,
  type ReplyFault,
  sayPage,
} from "../../support/reply-faults.ts";
import { askThrough, expectFree, type FaultFront, startFaultFront } from "./faults.ts";

let front: FaultFront;
beforeAll(async () => {
  front = await startFaultFront();
});
afterAll(() => front.stop());

const ERROR = "502 upstream_error";
const HELLO = '201 "Hello" stop';
const writeChoice = (choice: object) => JSON.stringify({ choices: [choice] });
const GOOD = writeChoice({ index: 0, message: { content: "Hello" }, finish_reason: "stop" });
/** Bytes that a connection must never give to the next caller. */
const STRAY = writeReply(GOOD.replace("Hello", CANARY));
/** The server's Retry-After is not forwarded. */
const page = (status: string) => sayPage(status, ["retry-after: 7"]);
const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

type Case = [title: string, fault: Fault, outcome: string, kept?: "kept"];
const expecting =
  (outcome: string) =>
  ([title, fault, kept]: ReplyFault): Case => [title, fault, outcome, kept];

async function hold(fault: Fault, stream: boolean, outcome: string, kept?: "kept") {
  const exchange = await askThrough(front, fault, { stream });
  expect(exchange.outcome).toBe(outcome);
  if (!kept) await exchange.closed;
  await expectFree(front);
}

/** Each before a first chunk, so that replies and streams get the same error. */
const EARLY: Case[] = [
  ...HEADLESS.map(expecting(ERROR)),
  ["hangs up after the head of a stream", sayAndEnd(STREAM_HEAD), ERROR],
  ["resets after the head of a stream", sayAndReset(STREAM_HEAD), ERROR],
  ["is a proxy that is closed", page("503 Service Temporarily Unavailable"), ERROR, "kept"],
  ["is a proxy that waited", page("504 Gateway Time-out"), "504 upstream_timeout", "kept"],
  ["is a proxy that finds it too large", page("413 Request Entity Too Large"), ERROR, "kept"],
];

describe("a model server that", () => {
  for (const [title, fault, ...rest] of EARLY) {
    for (const stream of [false, true]) {
      test(`gateway.errors.upstream_error ${title}${stream ? ", for a stream" : ""}`, () =>
        hold(fault, stream, ...rest));
    }
  }

  test("refuses connections is retried when it listens again", async () => {
    for (const stream of [false, true]) {
      front.proxy.refuse();
      expect((await askThrough(front, sayAndEnd(), { stream })).outcome).toBe(ERROR);
      front.proxy.restore();
      await expectFree(front);
    }
  });

  test("hangs up or resets before the request is sent", async () => {
    for (const greeting of [sayAndEnd(), sayAndReset(""), sayAndEnd(`220 ${CANARY}\r\n`)]) {
      // No connection is left to reuse.
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

describe("a complete reply", () => {
  const REPLIES: Case[] = [
    ["with a zero in it", sayAndStay(writeReply(GOOD.replace("Hello", "\0"))), ERROR, "kept"],
    [
      "whose message is a string",
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

    [
      "after 100 Continue",
      sayAndStay(writeHead("100 Continue", []) + writeReply(GOOD)),
      HELLO,
      "kept",
    ],
    [
      "after three times 102",
      sayAndStay(...Array(3).fill(writeHead("102 Wait", [])), writeReply(GOOD)),
      HELLO,
      "kept",
    ],
    [
      "in chunks with extensions and trailers",
      sayAndStay(
        `${CHUNKED}${GOOD.length.toString(16)};x="${CANARY}"\r\n${GOOD}\r\n0\r\nx-trailer: ${CANARY}\r\n\r\n`,
      ),
      HELLO,
      "kept",
    ],
    [
      "in chunks with sizes in capitals and with leading zeros",
      sayAndStay(
        `${CHUNKED}000${GOOD.length.toString(16).toUpperCase()}\r\n${GOOD}\r\n000\r\n\r\n`,
      ),
      HELLO,
      "kept",
    ],
    ["without a reason phrase", sayAndStay(writeReply(GOOD, "200")), HELLO, "kept"],
    [
      "with fields in capitals and blanks around their values",
      sayAndStay(
        `HTTP/1.1 200 OK\r\nCONTENT-TYPE:\tapplication/json \r\nCONTENT-LENGTH:  ${GOOD.length}  \r\n\r\n${GOOD}`,
      ),
      HELLO,
      "kept",
    ],
    [
      "in chunks after a byte order mark",
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
    ["followed by another one", sayAndStay(writeReply(GOOD) + STRAY), HELLO, "kept"],
    [
      "in chunks, followed by another one",
      sayAndStay(CHUNKED + writeChunk(GOOD) + LAST_CHUNK + STRAY),
      HELLO,
      "kept",
    ],
    ["that follows later, unrequested", sayAndStay(writeReply(GOOD), STRAY), HELLO, "kept"],
  ];
  const OF_ANY = [
    ...listBroken(GOOD).map(expecting(ERROR)),
    ...listForms(GOOD).map(expecting(HELLO)),
  ].map(([title, ...rest]): Case => [`of a server that ${title}`, ...rest]);
  for (const [title, fault, ...rest] of [...OF_ANY, ...REPLIES]) {
    test(title, () => hold(fault, false, ...rest));
  }

  test("in gzip, unrequested or mislabelled, is decoded or refused, and never forwarded compressed", async () => {
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

  test("with ten thousand calls, and with deeply nested arguments, is forwarded", async () => {
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

test("a kept-alive connection that closes as it is reused fails no request", async () => {
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
