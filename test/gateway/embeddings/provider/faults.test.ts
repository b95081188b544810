// Tests embeddings with a server that is unreachable, breaks off or is late, and departing callers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type EmbeddingServer,
  encode,
  startEmbeddingServer,
  tokenize,
  vectorOf,
  vllm,
} from "../../../support/embedding-servers.ts";
import {
  type Connection,
  type Fault,
  type FaultProxy,
  sayAndReset,
  sayAndStay,
  startFaultProxy,
  writeReply,
} from "../../../support/fault-proxy.ts";
import {
  HEADLESS,
  listBroken,
  listForms,
  listSilences,
  withLength,
} from "../../../support/reply-faults.ts";
import { type Connected, connect, expectFailure, expectGood, writeText } from "./connect.ts";

let server: EmbeddingServer;
let proxy: FaultProxy;
beforeAll(() => {
  server = startEmbeddingServer(vllm());
  proxy = startFaultProxy(server.url);
});
afterAll(async () => {
  proxy.stop();
  await server.stop();
});

const GOOD = JSON.stringify({ data: [{ index: 0, embedding: encode(vectorOf([9])) }] });
const ERROR = "upstream_error";

/** The next request gets its own vector, over any connection. */
async function expectNext({ embed }: Connected) {
  proxy.fault = null;
  const embedded = await expectGood(embed(["next"]));
  expect(embedded.vectors).toEqual([vectorOf(tokenize("next"))]);
}

/** The server's kind is known by now, so the fault affects the embeddings. */
async function acquaint(lines = "") {
  proxy.fault = null;
  const connected = connect([proxy.url], `health_every = "0s"\n${lines}`);
  await expectGood(connected.embed(["first"]));
  return connected;
}

type Case = [title: string, fault: Fault, code: string];
const FAULTS: Case[] = [
  ...[...HEADLESS, ...listBroken(GOOD)].map(([title, fault]): Case => [title, fault, ERROR]),
  ["answers with half of it", sayAndStay(writeReply(GOOD.slice(0, 999))), ERROR],
  ["answers with another's vectors", sayAndStay(writeReply(GOOD.replace("0", "1"))), ERROR],
  [
    "packs it in an unknown way",
    sayAndStay(writeReply(GOOD, "200 OK", ["content-encoding: x"])),
    ERROR,
  ],
  ["promises 5 MB", sayAndStay(withLength(5 * 1024 * 1024)), ERROR],
  [
    "is a proxy out of patience",
    sayAndStay(writeReply("", "504 Gateway Timeout")),
    "upstream_timeout",
  ],
  [
    "is a proxy that turns away",
    sayAndStay(writeReply("", "503 Unavailable")),
    "upstream_rate_limited",
  ],
];

describe("a server that", () => {
  test.each(FAULTS)("%s has its code, and the next request is answered", async (_, fault, code) => {
    const connected = await acquaint();
    proxy.fault = fault;
    const failure = await expectFailure(connected.embed(["a"]));
    expect(failure).toMatchObject({ code, attempts: 1 });
    expect(JSON.stringify([failure, connected.log])).not.toContain("canary");
    await expectNext(connected);
  });

  test.each(listForms(GOOD))("%s is understood", async (_, fault) => {
    const connected = await acquaint();
    proxy.fault = fault;
    const embedded = await expectGood(connected.embed(["a"]));
    expect(embedded.vectors).toEqual([vectorOf([9])]);
    await expectNext(connected);
  });

  test("gateway.errors.service_unavailable: refuses connections is offline, until it listens again", async () => {
    const connected = await acquaint();
    proxy.refuse();
    const failure = await expectFailure(connected.embed(["a"]));
    proxy.restore();
    expect(failure).toMatchObject({ code: "model_offline", retryable: true, noResponse: "surely" });
    await expectNext(connected);
  });

  test("gateway.errors.service_unavailable: speaks no TLS on an https URL is offline", async () => {
    const { embed } = connect([server.url.replace("http:", "https:")], 'health_every = "0s"');
    const failure = await expectFailure(embed(["a"]));
    expect(failure).toMatchObject({ code: "model_offline", noResponse: "surely" });
  });

  test("has no address is offline", async () => {
    const { embed } = connect(["http://nowhere.invalid/v1"], 'health_every = "0s"');
    expect(await expectFailure(embed(["a"]))).toMatchObject({ code: "model_offline" });
  });

  test("fails before its kind or its count is known fails too", async () => {
    const connected = connect([proxy.url], 'health_every = "0s"');
    proxy.fault = sayAndReset("");
    expect(await expectFailure(connected.embed(["a"]))).toMatchObject({ code: ERROR });
    proxy.fault = null;
    await expectGood(connected.embed(["a"]));
    proxy.fault = (link) => (link.request.includes("/tokenize") ? link.reset() : link.pass());
    const failure = await expectFailure(connected.embed([writeText(6_000)]));
    expect(failure).toMatchObject({ code: ERROR });
    await expectNext(connected);
  });
});

/** Settles once a request has arrived, which gets only this partial reply. */
function hold(said = "") {
  const { promise, resolve } = Promise.withResolvers<Connection>();
  proxy.fault = async (link) => {
    await sayAndStay(said)(link);
    resolve(link.connection);
  };
  return promise;
}

describe("the timeout", () => {
  test.each(listSilences(GOOD))(
    "gateway.errors.upstream_timeout: a server that says nothing %s has its time, and no more",
    async (_, said) => {
      const connected = await acquaint('timeout = "7s"');
      const held = hold(said);
      const asked = connected.embed(["a"]);
      const { closed } = await held;
      await connected.clock.advance(6_999);
      expect(await Promise.race([asked, Promise.resolve("open")])).toBe("open");
      await connected.clock.advance(1);
      const failure = await expectFailure(asked);
      expect(failure).toMatchObject({ code: "upstream_timeout", retryable: false });
      await closed;
      await expectNext(connected);
    },
  );

  test("covers the whole request: detection, count and all batches", async () => {
    proxy.fault = null;
    const { embed, clock } = connect(
      [proxy.url],
      'health_every = "0s"\ntimeout = "7s"\nmax_batch = 1',
    );
    let requests = 0;
    const { promise: last, resolve } = Promise.withResolvers<void>();
    proxy.fault = async (link) => {
      requests += 1;
      if (requests === 4) return resolve();
      await clock.advance(2_000);
      await link.pass();
    };
    const asked = embed(["a", "b", "c", "d"]);
    await last;
    await clock.advance(999);
    expect(await Promise.race([asked, Promise.resolve("open")])).toBe("open");
    await clock.advance(1);
    expect(await expectFailure(asked)).toMatchObject({ code: "upstream_timeout" });
  });

  test("leaves the time that a dead replica did not use to the next", async () => {
    const connected = connect([proxy.url, server.url], 'health_every = "0s"');
    proxy.fault = sayAndReset("");
    expect(await connected.embed(["a"])).toMatchObject({ ok: true, attempts: 2 });
  });
});

describe("a caller that leaves", () => {
  test("has its request aborted at once, at any stage", async () => {
    const connected = await acquaint();
    for (const inputs of [["a"], [writeText(6_000)]]) {
      const caller = new AbortController();
      const held = hold();
      const asked = connected.embed(inputs, caller.signal);
      const { closed } = await held;
      caller.abort();
      expect(await expectFailure(asked)).toMatchObject({ code: "client_closed_request" });
      await closed;
    }
    await expectNext(connected);
  });

  test("in the middle of a reply is not waited for", async () => {
    const connected = await acquaint();
    const caller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Connection>();
    proxy.fault = async (link) => {
      await link.say(withLength(GOOD.length) + GOOD.slice(0, 99));
      await link.turn();
      resolve(link.connection);
    };
    const asked = connected.embed(["a"], caller.signal);
    const { closed } = await promise;
    caller.abort();
    expect(await expectFailure(asked)).toMatchObject({ code: "client_closed_request" });
    await closed;
    await expectNext(connected);
  });

  test("before its request causes none", async () => {
    const connected = await acquaint();
    const before = server.asked.length;
    const failure = await expectFailure(connected.embed(["a"], AbortSignal.abort()));
    expect(failure).toMatchObject({ code: "client_closed_request" });
    expect(server.asked.length).toBe(before);
  });

  test("causes no request to another replica", async () => {
    const connected = connect([proxy.url, server.url], 'health_every = "0s"');
    const before = server.asked.length;
    const caller = new AbortController();
    const held = hold();
    const asked = connected.embed(["a"], caller.signal);
    await held;
    caller.abort();
    expect(await expectFailure(asked)).toMatchObject({
      code: "client_closed_request",
      attempts: 1,
    });
    expect(server.asked.length).toBe(before);
  });
});
