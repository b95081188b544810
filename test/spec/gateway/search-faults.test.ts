// What becomes of a search whose engine cannot be reached, breaks off, speaks nonsense, or says nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import {
  type Fault,
  type FaultProxy,
  LAST_CHUNK,
  type Link,
  sayAndEnd,
  sayAndReset,
  sayAndStay,
  startFaultProxy,
  writeChunk,
  writeHead,
  writeReply,
} from "../../support/fault-proxy.ts";
import { startSearxng } from "../../support/search-servers.ts";
import { CANARY, writePage } from "./faults.ts";
import { readOutcome, readWaits, type SearchFront, startSearchFront } from "./search-front.ts";

let front: SearchFront;
let proxy: FaultProxy;
beforeAll(async () => {
  const server = startSearxng();
  proxy = startFaultProxy(server.url);
  // Its health is looked at from a start on, and there is none here: a fault meets searches alone.
  front = await startSearchFront({ server, url: `http://127.0.0.1:${proxy.port}` });
});
afterAll(async () => {
  await front.stop();
  proxy.stop();
});

const ERROR = "502 upstream_error";
const REFUSED = "503 service_unavailable";
const FOUND = "200 1";
const JSON_TYPE = "content-type: application/json";
const GOOD = JSON.stringify({
  query: "x",
  results: [{ title: "A", url: "https://a.example/", content: "B" }],
  unresponsive_engines: [],
});
const withLength = (length: number) =>
  writeHead("200 OK", [JSON_TYPE, `content-length: ${length}`]);
const CHUNKED = writeHead("200 OK", [JSON_TYPE, "transfer-encoding: chunked"]);
const page = (status: string) =>
  sayAndStay(
    writeReply(writePage(status), status, ["content-type: text/html", `server: ${CANARY}`]),
  );
const half = (status: string) => `${writeHead(status, ["content-length: 99"])}{"error":"${CANARY}`;

let count = 0;

/** Asks once while the fault lasts, and holds the reply and the log against all that must not leak. */
async function askThrough(fault: Fault): Promise<string> {
  // Not so many failures a minute that the breaker would open.
  await front.clock.advance(15_000);
  const played: unknown[] = [];
  proxy.fault = (link) => {
    played.push(fault(link));
    return played.at(-1);
  };
  const headers = { "x-request-id": `fault-${++count}` };
  const response = await front.search("secret words", {}, { headers });
  const text = await response.text();
  proxy.fault = null;
  await Promise.all(played);
  expect([...readWaits(response), response.headers.get("server")]).toEqual([null, null, null]);
  expectSilence(JSON.stringify([...response.headers]) + (response.ok ? "" : text));
  const outcome = await readOutcome(new Response(text, response));
  const lines = front.lines.filter(({ request_id }) => request_id === headers["x-request-id"]);
  expect(lines.length).toBe(response.ok ? 0 : 1);
  return outcome;
}

/** Nothing of the engine's words or of the query, nor where it stands, was told or logged. */
function expectSilence(told: string): void {
  // The lines about a server itself name it, for the operator alone.
  const lines = front.lines.filter(({ upstream }) => upstream === undefined);
  const all = told + JSON.stringify(lines);
  for (const secret of ["canary", "10.9.8.7", "nginx", "<html", `:${proxy.port}`, "secret"]) {
    expect(all).not.toContain(secret);
  }
}

/** The next request is answered as if nothing had been. */
async function expectFree(): Promise<void> {
  expect(await readOutcome(await front.search("x"))).toBe("200 5");
}

type Case = [title: string, fault: Fault, outcome: string];

const CASES: Case[] = [
  ["hangs up without a byte", sayAndEnd(), ERROR],
  ["resets without a byte", sayAndReset(""), ERROR],
  ["hangs up in the status line", sayAndEnd("HTTP/1.1 20"), ERROR],
  ["hangs up in the head", sayAndEnd(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`), ERROR],
  ["resets in the head", sayAndReset(`HTTP/1.1 200 OK\r\nserver: ${CANARY}`), ERROR],
  ["hangs up after the head", sayAndEnd(withLength(99)), ERROR],
  ["resets after the head", sayAndReset(withLength(99)), ERROR],
  ["hangs up in the body", sayAndEnd(withLength(GOOD.length) + GOOD.slice(0, 40)), ERROR],
  ["resets in the body", sayAndReset(withLength(GOOD.length) + GOOD.slice(0, 40)), ERROR],
  ["hangs up in a chunk", sayAndEnd(CHUNKED + writeChunk(GOOD).slice(0, 40)), ERROR],
  ["hangs up in front of the last chunk", sayAndEnd(CHUNKED + writeChunk(GOOD)), ERROR],
  ["says less than it announces", sayAndEnd(withLength(GOOD.length + 9) + GOOD), ERROR],
  ["says more than it announces", sayAndStay(withLength(GOOD.length - 9) + GOOD), ERROR],
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
  ["has an empty body", sayAndStay(writeReply("")), ERROR],
  ["answers 204", sayAndStay(writeHead("204 No Content", [])), ERROR],
  ["is a page in HTML", page("200 OK"), ERROR],
  ["is a proxy that knows no server", page("502 Bad Gateway"), ERROR],
  ["is a proxy that is closed", page("503 Service Temporarily Unavailable"), REFUSED],
  ["is a proxy that waited", page("504 Gateway Time-out"), "504 upstream_timeout"],
  ["is a proxy that finds the query too long", page("414 URI Too Long"), ERROR],
  ["sends us elsewhere", page("301 Moved Permanently"), ERROR],
  ["says half a 500 and hangs up", sayAndEnd(half("500 No")), ERROR],
  ["says half a 429 and hangs up", sayAndEnd(half("429 No")), ERROR],
  ["has a chunk without a size", sayAndStay(`${CHUNKED}zz\r\n${CANARY}\r\n`), ERROR],
  [
    "has two lengths",
    sayAndStay(
      `${writeHead("200 OK", [JSON_TYPE, "content-length: 5", "content-length: 6"])}${GOOD}`,
    ),
    ERROR,
  ],
  ["says two documents", sayAndStay(writeReply(GOOD + GOOD)), ERROR],
  ["says a canary", sayAndStay(writeReply(JSON.stringify({ error: CANARY }))), ERROR],
  [
    "says it in UTF-16",
    sayAndStay(withLength(2 * GOOD.length), Buffer.from(GOOD, "utf16le")),
    ERROR,
  ],
  [
    "nests without end and names no hit",
    sayAndStay(writeReply(`{"results":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)),
    "200 0",
  ],
  [
    "has a zip that is a hundred megabytes",
    sayAndStay(
      ...(() => {
        const zip = gzipSync(Buffer.alloc(100_000_000, " "));
        const fields = [JSON_TYPE, "content-encoding: gzip", `content-length: ${zip.length}`];
        return [writeHead("200 OK", fields), zip] as const;
      })(),
    ),
    ERROR,
  ],

  ["ends with the connection", sayAndEnd(writeHead("200 OK", [JSON_TYPE]) + GOOD), FOUND],
  ["speaks HTTP/1.0", sayAndEnd(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${GOOD}`), FOUND],
  ["says it in chunks", sayAndStay(CHUNKED, ...[...GOOD].map(writeChunk), LAST_CHUNK), FOUND],
  [
    "gives early hints",
    sayAndStay(writeHead("103 Early Hints", ["link: x"]), writeReply(GOOD)),
    FOUND,
  ],
  ["begins with a byte order mark", sayAndStay(writeReply(`\ufeff${GOOD}`)), FOUND],
  ["answers twice", sayAndStay(writeReply(GOOD) + writeReply(GOOD.replace("A", CANARY))), FOUND],
];

describe("gateway.errors.upstream_error a search engine that", () => {
  for (const [title, fault, outcome] of CASES) {
    test(title, async () => {
      expect(await askThrough(fault)).toBe(outcome);
      await expectFree();
    });
  }

  test("says a hundred megabytes is cut off long before", async () => {
    const met = Promise.withResolvers<Link>();
    const megabyte = "x".repeat(1_000_000);
    const fault: Fault = async (link) => {
      met.resolve(link);
      await link.say(`${CHUNKED}`);
      for (let n = 0; n < 100; n++) await link.say(writeChunk(megabyte));
    };
    expect(await askThrough(fault)).toBe(ERROR);
    const { connection } = await met.promise;
    await connection.closed;
    expect(connection.sent_bytes).toBeLessThan(50_000_000);
    await expectFree();
  });

  test("announces a hundred megabytes is not heard out", async () => {
    const met = Promise.withResolvers<Link>();
    const fault: Fault = async (link) => {
      met.resolve(link);
      await link.say(withLength(100_000_000));
    };
    expect(await askThrough(fault)).toBe(ERROR);
    await (await met.promise).connection.closed;
    await expectFree();
  });
});

test("gateway.errors.service_unavailable an engine where nothing listens is out of reach, until it listens again", async () => {
  proxy.refuse();
  expect(await askThrough(sayAndEnd())).toBe(REFUSED);
  proxy.restore();
  await expectFree();
});

test("a connection that was kept and is closed just as it is used again costs nobody an answer", async () => {
  for (const breakOff of [sayAndEnd(), sayAndReset("")]) {
    await expectFree();
    const first = proxy.connections.at(-1)!;
    const fault: Fault = (link) => (link.connection === first ? breakOff(link) : link.pass());
    expect(await askThrough(fault)).toBe("200 5");
    expect(proxy.connections.at(-1)).not.toBe(first);
  }
});

describe("gateway.errors.upstream_timeout nothing came in time", () => {
  const SILENT: [where: string, said: string][] = [
    ["at all", ""],
    ["behind half the status line", "HTTP/1.1 2"],
    ["behind half the head", `HTTP/1.1 200 OK\r\nserver: ${CANARY}\r\n`],
    ["behind 100 Continue", writeHead("100 Continue", [])],
    ["behind the head", withLength(99)],
    ["behind half a body", withLength(GOOD.length) + GOOD.slice(0, 40)],
    ["behind half a chunk", CHUNKED + writeChunk(GOOD).slice(0, 40)],
    ["behind an error's head", writeHead("500 No", ["content-length: 99"])],
  ];
  for (const [where, said] of SILENT) {
    test(where, async () => {
      const met = Promise.withResolvers<Link>();
      proxy.fault = async (link) => {
        await sayAndStay(said)(link);
        met.resolve(link);
      };
      const replied = front.search("x");
      const { connection } = await met.promise;
      await front.clock.advance(14_999);
      expect(Bun.peek.status(replied)).toBe("pending");
      await front.clock.advance(1);
      const response = await replied;
      expect(readWaits(response)).toEqual([null, null]);
      expect(await readOutcome(response)).toBe("504 upstream_timeout");
      await connection.closed;
      proxy.fault = null;
      await expectFree();
    });
  }

  test("but a byte each second, which is no answer either", async () => {
    const met = Promise.withResolvers<Link>();
    proxy.fault = async (link) => {
      await link.say(withLength(99));
      met.resolve(link);
    };
    const replied = front.search("x");
    const link = await met.promise;
    for (let second = 0; second < 15; second++) {
      expect(Bun.peek.status(replied)).toBe("pending");
      await link.say("x");
      await front.clock.advance(1_000);
    }
    expect(await readOutcome(await replied)).toBe("504 upstream_timeout");
    await link.connection.closed;
    proxy.fault = null;
    await expectFree();
  });
});
