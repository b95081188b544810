// Chats whose model server is slow, silent or endless, and chats whose caller leaves.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type Fault,
  type Link,
  STREAM_HEAD,
  sayAndStay,
  writeChunk,
  writeHead,
  writeReply,
  writeStreamReply,
} from "../../support/fault-proxy.ts";
import { CANARY, listSilences } from "../../support/reply-faults.ts";
import { DONE, writeFrame } from "../../support/upstream.ts";
import {
  askThrough,
  collect,
  expectFree,
  expectSilence,
  type FaultFront,
  readOutcome,
  startFaultFront,
} from "./faults.ts";

const HEL = writeFrame({ role: "assistant", content: "Hel" });
const LO_STOP = writeFrame({ content: "lo" }, "stop");
const BEGUN = STREAM_HEAD + writeChunk(HEL);
const JSON_TYPE = "content-type: application/json";
const ANNOUNCED = writeHead("200 OK", [JSON_TYPE, "content-length: 99"]);
const GOOD = JSON.stringify({
  choices: [{ message: { content: "Hello" }, finish_reason: "stop" }],
});
const FIRST = 'first_token_timeout = "10s"\n';
const WHOLE = '201 "Hello" stop';
const HALF = '201 "Hel" upstream_error';

let front: FaultFront;
beforeAll(async () => {
  front = await startFaultFront(FIRST);
});
afterAll(() => front.stop());

/**
 * Sends a request that stays unanswered: returns the reply, and the connection once the fault
 * applies.
 */
function begin(own: FaultFront, fault: Fault, fields: object = {}, signal?: AbortSignal) {
  const met = Promise.withResolvers<Link>();
  own.proxy.fault = async (link) => {
    await fault(link);
    met.resolve(link);
  };
  const headers = { "x-request-id": "begun" };
  const replied = own.chat("Hi", { model: "test-1", ...fields }, { headers, signal });
  // Awaited later, or never.
  replied.catch(() => undefined);
  return { replied, met: met.promise };
}

describe("gateway.errors.upstream_timeout no response in time", () => {
  const SILENT: [where: string, said: string][] = [
    ...listSilences(GOOD),
    ["after the head of a stream", STREAM_HEAD],
    ["after half a chunk of a stream", STREAM_HEAD + writeChunk(HEL).slice(0, 40)],
    ["after a comment", STREAM_HEAD + writeChunk(": queued\n\n")],
    ["after half a frame", STREAM_HEAD + writeChunk(HEL.slice(0, 40))],
    ["after a role", STREAM_HEAD + writeChunk(writeFrame({ role: "assistant", content: "" }))],
  ];
  for (const [where, said] of SILENT) {
    for (const stream of [false, true]) {
      test(`${where}${stream ? ", for a stream" : ""}`, async () => {
        const { replied, met } = begin(front, sayAndStay(said), { stream });
        const { connection } = await met;
        await front.clock.advance(9_999);
        expect(Bun.peek.status(replied)).toBe("pending");
        await front.clock.advance(1);
        expect(await readOutcome(await replied)).toBe("504 upstream_timeout");
        await connection.closed;
        front.proxy.fault = null;
        await expectFree(front);
      });
    }
  }

  const BABBLE: [what: string, frame: string][] = [
    ["comments", ": PROCESSING\n\n"],
    ["empty choices", 'data: {"choices":[]}\n\n'],
    ["roles", writeFrame({ role: "assistant", content: "" })],
    ["empty events", "data:\n\n"],
  ];
  for (const [what, frame] of BABBLE) {
    test(`except ${what} every second, which are no first token`, async () => {
      const { replied, met } = begin(front, sayAndStay(STREAM_HEAD), { stream: true });
      const link = await met;
      for (let second = 0; second < 10; second++) {
        expect(Bun.peek.status(replied)).toBe("pending");
        await link.say(writeChunk(frame));
        await front.clock.advance(1_000);
      }
      expect(await readOutcome(await replied)).toBe("504 upstream_timeout");
      await link.connection.closed;
      front.proxy.fault = null;
      await expectFree(front);
    });
  }

  test("gateway.events.2 gateway.events.4 except comments for longer than 15 s: 201, our own comments, and an error in the stream", async () => {
    await using own = await startFaultFront('first_token_timeout = "40s"');
    const { replied, met } = begin(own, sayAndStay(STREAM_HEAD), { stream: true });
    const link = await met;
    for (let second = 0; second < 40; second++) {
      await link.say(writeChunk(`: ${CANARY}\n\n`));
      await own.clock.advance(1_000);
    }
    const response = await replied;
    const text = await response.text();
    expect(text.match(/^: keep-alive$/gm)?.length).toBe(2);
    expectSilence(own, text);
    expect(await readOutcome(new Response(text, response))).toBe('201 "" upstream_timeout');
    await link.connection.closed;
    own.proxy.fault = null;
    await expectFree(own);
  });
});

describe("gateway.errors.upstream_error the response stalled", () => {
  const STALLED: [where: string, said: string, outcome: string][] = [
    ["after a chunk", BEGUN, HALF],
    ["after half a frame", BEGUN + writeChunk(LO_STOP.slice(0, 40)), HALF],
    ["after half a chunk", BEGUN + writeChunk(LO_STOP).slice(0, 40), HALF],
    ["after the size of a chunk", `${BEGUN}40\r\n`, HALF],
    ["after the finish reason, which ends it", BEGUN + writeChunk(LO_STOP), WHOLE],
    ["after [DONE], which ends it", BEGUN + writeChunk(LO_STOP + DONE), WHOLE],
  ];
  for (const [where, said, outcome] of STALLED) {
    test(where, async () => {
      const { replied, met } = begin(front, sayAndStay(said), { stream: true });
      const { connection } = await met;
      const received = collect(await replied);
      await received.until(outcome === WHOLE ? '"lo"' : '"Hel"');
      await front.clock.advance(60_000);
      expect(await readOutcome(await received.whole())).toBe(outcome);
      await connection.closed;
      front.proxy.fault = null;
      await expectFree(front);
    });
  }

  test("except for comments, which are no chunks", async () => {
    const { replied, met } = begin(front, sayAndStay(BEGUN), { stream: true });
    const link = await met;
    const received = collect(await replied);
    await received.until('"Hel"');
    for (let second = 0; second < 60; second++) {
      await link.say(writeChunk(`: ${CANARY}\n\n`));
      await front.clock.advance(1_000);
    }
    expect(await readOutcome(await received.whole())).toBe(HALF);
    await link.connection.closed;
    front.proxy.fault = null;
    await expectFree(front);
  });

  test("except for chunks after the end, which are ignored: the reply is complete", async () => {
    const { replied, met } = begin(front, sayAndStay(BEGUN + writeChunk(LO_STOP)), {
      stream: true,
    });
    const link = await met;
    const received = collect(await replied);
    await received.until('"lo"');
    for (let second = 0; second < 2; second++) {
      await link.say(writeChunk('data: {"choices":[]}\n\n'));
      await front.clock.advance(1_000);
    }
    expect(await readOutcome(await received.whole())).toBe(WHOLE);
    await link.connection.closed;
    front.proxy.fault = null;
    await expectFree(front);
  });
});

describe("one byte a second", () => {
  const drip =
    (own: FaultFront, reply: string): Fault =>
    async (link) => {
      for (const byte of Buffer.from(reply)) {
        await link.say(Uint8Array.of(byte));
        await own.clock.advance(1_000);
      }
    };
  const STREAM = writeStreamReply(HEL, LO_STOP, DONE);

  test("is a complete reply where the limits allow it", async () => {
    await using own = await startFaultFront('first_token_timeout = "1h"\nstall_timeout = "1h"');
    for (const [stream, reply] of [
      [false, writeReply(GOOD)],
      [true, STREAM],
    ] as const) {
      const { outcome } = await askThrough(own, drip(own, reply), { stream });
      expect(outcome).toBe(WHOLE);
    }
  });

  test("is too slow where they do not: for a reply, for the first chunk, and between chunks", async () => {
    await using own = await startFaultFront('first_token_timeout = "1h"\nstall_timeout = "20s"');
    const head: Fault = (link) => link.say(BEGUN);
    const { replied, met } = begin(own, head, { stream: true });
    const link = await met;
    const received = collect(await replied);
    await received.until('"Hel"');
    await drip(own, writeChunk(LO_STOP))(link);
    expect(await readOutcome(await received.whole())).toBe(HALF);
    await link.connection.closed;
    own.proxy.fault = null;
    await expectFree(own);
    for (const reply of [writeReply(GOOD), STREAM]) {
      const slow = await askThrough(front, drip(front, reply));
      expect(slow.outcome).toBe("504 upstream_timeout");
      await slow.closed;
    }
  });
});

describe("a hundred megabytes", () => {
  const MB = 1 << 20;
  /** A generous maximum of the buffers between two sockets and a reader. */
  const BUFFERS = 24 * MB;
  /** The part of a response that is read in addition. */
  const READ_MAX = 16 * MB + BUFFERS;
  const flood =
    (head: string, piece: string): Fault =>
    async (link) => {
      await link.say(head);
      const bytes = Buffer.from(piece);
      const all = Buffer.concat(Array<Buffer>(Math.ceil(MB / bytes.length)).fill(bytes));
      for (let sent = 0; sent < 100 * MB; sent += all.length) await link.say(all);
    };
  const chunk = writeChunk(`${"x".repeat(65_000)}`);
  const CHUNKED = writeHead("200 OK", [JSON_TYPE, "transfer-encoding: chunked"]);
  const FLOODS: [what: string, fault: Fault, stream: boolean, outcome: RegExp, max?: number][] = [
    ["of a reply", flood(CHUNKED, chunk), false, /^502 upstream_error$/],
    [
      "of a reply until the connection ends",
      flood(writeHead("200 OK", [JSON_TYPE]), "x"),
      false,
      /^502 upstream_error$/,
    ],
    [
      "of a reply that announces them",
      flood(writeHead("200 OK", [JSON_TYPE, `content-length: ${100 * MB}`]), "x"),
      false,
      /^502 upstream_error$/,
      BUFFERS,
    ],
    [
      "of an error",
      flood(writeHead("500 No", ["transfer-encoding: chunked"]), chunk),
      false,
      /^502 upstream_error$/,
      BUFFERS,
    ],
    [
      "of an error that announces them",
      flood(writeHead("500 No", [`content-length: ${100 * MB}`]), "x"),
      true,
      /^502 upstream_error$/,
      BUFFERS,
    ],
    [
      "of a head",
      flood("HTTP/1.1 200 OK\r\n", `x: ${"y".repeat(1_000)}\r\n`),
      false,
      /^502 upstream_error$/,
      BUFFERS,
    ],
    ["of one line", flood(STREAM_HEAD + writeChunk("data: "), chunk), true, /^502 upstream_error$/],
    [
      "of comments",
      flood(STREAM_HEAD, writeChunk(`: ${"x".repeat(65_000)}\n\n`)),
      true,
      /^502 upstream_error$/,
    ],
    [
      "of empty chunks of an answer",
      flood(STREAM_HEAD, writeChunk(writeFrame({ content: "" }))),
      true,
      /^502 upstream_error$/,
    ],
    [
      "of an answer",
      flood(STREAM_HEAD, writeChunk(writeFrame({ content: "x".repeat(10_000) }))),
      true,
      /^201 "x{9000000,17000000}" upstream_error$/,
    ],
  ];
  for (const [what, fault, stream, outcome, max = READ_MAX] of FLOODS) {
    test(`${what} are cut off`, async () => {
      let link: Link | undefined;
      const exchange = await askThrough(
        front,
        (one) => {
          link = one;
          return fault(one);
        },
        { stream },
      );
      expect(outcome.test(exchange.outcome) || exchange.outcome.slice(0, 200)).toBe(true);
      await exchange.closed;
      expect(link!.connection.sent_bytes).toBeLessThan(max);
      await expectFree(front);
    }, 120_000);
  }
});

describe("gateway.errors.client_closed_request a caller that leaves closes the connection to the model server", () => {
  let own: FaultFront;
  beforeAll(async () => {
    own = await startFaultFront("", { listens: true });
  });
  afterAll(() => own.stop());

  const LEFT: [where: string, said: string, stream: boolean, received: string][] = [
    ["before the first byte", "", false, ""],
    ["before the first byte of a stream", "", true, ""],
    ["in the head", "HTTP/1.1 200 OK\r\nx:", false, ""],
    ["after the head", ANNOUNCED, false, ""],
    ["after the head of a stream", STREAM_HEAD + writeChunk(": queued\n\n"), true, ""],
    ["in a reply", ANNOUNCED + GOOD.slice(0, 40), false, ""],
    ["in an error", `${writeHead("500 No", ["content-length: 99"])}{"error"`, true, ""],
    ["in a stream", BEGUN, true, '"Hel"'],
    ["in a frame", BEGUN + writeChunk(LO_STOP.slice(0, 40)), true, '"Hel"'],
    ["after the end of a stream that is still open", BEGUN + writeChunk(LO_STOP), true, '"lo"'],
  ];
  for (const [where, said, stream, part] of LEFT) {
    test(where, async () => {
      const leaving = new AbortController();
      const { replied, met } = begin(own, sayAndStay(said), { stream }, leaving.signal);
      const { connection } = await met;
      if (part !== "") await collect(await replied).until(part);
      own.lines.length = 0;
      leaving.abort();
      await connection.closed;
      await own.logged("client_closed_request");
      own.proxy.fault = null;
      await expectFree(own);
      expect(own.lines).toEqual([
        expect.objectContaining({
          request_id: "begun",
          code: "client_closed_request",
          status: 499,
        }),
      ]);
    });
  }

  test("after only our own comments were sent", async () => {
    const leaving = new AbortController();
    const { replied, met } = begin(own, sayAndStay(""), { stream: true }, leaving.signal);
    const { connection } = await met;
    await own.clock.advance(15_000);
    await collect(await replied).until(": keep-alive");
    leaving.abort();
    await connection.closed;
    own.proxy.fault = null;
    await expectFree(own);
  });
});
