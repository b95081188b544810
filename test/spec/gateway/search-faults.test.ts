// Searches whose engine is unreachable, breaks off, sends invalid data, or stays silent.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import {
  type Fault,
  type FaultProxy,
  type Link,
  sayAndEnd,
  sayAndReset,
  sayAndStay,
  startFaultProxy,
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
  listSilences,
  type ReplyFault,
  sayHalf,
  sayPage,
  withLength,
} from "../../support/reply-faults.ts";
import { startSearxng } from "../../support/search-servers.ts";
import { expectSilence } from "./faults.ts";
import { readOutcome, readWaits, type SearchFront, startSearchFront } from "./search-front.ts";

let front: SearchFront;
let proxy: FaultProxy;
beforeAll(async () => {
  const server = startSearxng();
  proxy = startFaultProxy(server.url);
  // Health checks would begin at the start and are off: faults affect searches only.
  front = await startSearchFront({ server, url: `http://127.0.0.1:${proxy.port}` });
});
afterAll(async () => {
  await front.stop();
  proxy.stop();
});

const ERROR = "502 upstream_error";
const REFUSED = "503 service_unavailable";
const FOUND = "200 1";
const GOOD = JSON.stringify({
  query: "x",
  results: [{ title: "A", url: "https://a.example/", content: "B" }],
  unresponsive_engines: [],
});
let count = 0;

/** Sends one request during the fault, and checks that reply and log leak nothing. */
async function askThrough(fault: Fault): Promise<string> {
  // Too few failures a minute to open the breaker.
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
  const received = JSON.stringify([...response.headers]) + (response.ok ? "" : text);
  expectSilence({ ...front, proxy }, received);
  // The query in the address is not leaked, either.
  expect(received + JSON.stringify(front.lines)).not.toContain("secret");
  const outcome = await readOutcome(new Response(text, response));
  const lines = front.lines.filter(({ request_id }) => request_id === headers["x-request-id"]);
  expect(lines.length).toBe(response.ok ? 0 : 1);
  return outcome;
}

/** The next request is answered as if nothing had been. */
async function expectFree(): Promise<void> {
  expect(await readOutcome(await front.search("x"))).toBe("200 5");
}

type Case = [title: string, fault: Fault, outcome: string];
const expecting =
  (outcome: string) =>
  ([title, fault]: ReplyFault): Case => [title, fault, outcome];

const CASES: Case[] = [
  ...[...HEADLESS, ...listBroken(GOOD)].map(expecting(ERROR)),
  ...listForms(GOOD).map(expecting(FOUND)),
  ["is a proxy that is closed", sayPage("503 Service Temporarily Unavailable"), REFUSED],
  ["is a proxy that waited", sayPage("504 Gateway Time-out"), "504 upstream_timeout"],
  ["is a proxy that finds the query too long", sayPage("414 URI Too Long"), ERROR],
  ["sends us elsewhere", sayPage("301 Moved Permanently"), ERROR],
  ["sends half a 429 and hangs up", sayHalf("429 No"), ERROR],
  ["says a canary", sayAndStay(writeReply(JSON.stringify({ error: CANARY }))), ERROR],
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
];

describe("gateway.errors.upstream_error a search engine that", () => {
  for (const [title, fault, outcome] of CASES) {
    test(title, async () => {
      expect(await askThrough(fault)).toBe(outcome);
      await expectFree();
    });
  }

  test("sends a hundred megabytes is cut off early", async () => {
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

  test("announces a hundred megabytes is not read to the end", async () => {
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

test("gateway.errors.service_unavailable an engine that refuses connections is unavailable, until it listens again", async () => {
  proxy.refuse();
  expect(await askThrough(sayAndEnd())).toBe(REFUSED);
  proxy.restore();
  await expectFree();
});

test("a kept-alive connection that closes as it is reused fails no request", async () => {
  for (const breakOff of [sayAndEnd(), sayAndReset("")]) {
    await expectFree();
    const first = proxy.connections.at(-1)!;
    const fault: Fault = (link) => (link.connection === first ? breakOff(link) : link.pass());
    expect(await askThrough(fault)).toBe("200 5");
    expect(proxy.connections.at(-1)).not.toBe(first);
  }
});

describe("gateway.errors.upstream_timeout no response in time", () => {
  const silences = listSilences(GOOD);
  silences.push(["after an error's head", writeHead("500 No", ["content-length: 99"])]);
  for (const [where, said] of silences) {
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

  test("except a byte each second, which is no response either", async () => {
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
