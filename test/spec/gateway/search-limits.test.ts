// Rate and concurrency of searches, and waits for an engine with Retry-After.
import { describe, expect, test } from "bun:test";
import {
  BRAVE_KEY,
  holdAnswers,
  startBrave,
  writeBraveError,
  writeLimits,
} from "../../support/search-servers.ts";
import { allow, createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";
import {
  readOutcome,
  readWaits,
  type SearchFront,
  startSearchFront,
  UNLIMITED,
} from "./search-front.ts";

const LIMITED = [429, "rate_limit_exceeded", null];

describe("gateway.limits.search_quota", () => {
  test("gateway.errors.rate_limit_exceeded ten in any minute for all keys of an account, sliding, with the exact time to wait", async () => {
    await using front = await startSearchFront({ search: "" });
    const keys = [await createKey(front, { scopes: ["search"] }), undefined];
    const ask = (n: number) => front.search("x", {}, { key: keys[n % 2] });
    for (let n = 0; n < 10; n++) {
      expect((await ask(n)).status).toBe(200);
      await front.clock.advance(1_000);
    }
    const refused = await ask(0);
    expect(readWaits(refused)).toEqual(["50", null]);
    expect(await readRefusal(refused)).toEqual(LIMITED);
    expect(front.server.asked).toHaveLength(10);
    // Refusals extend nothing, and a request is admitted once the first is a minute old.
    await front.clock.advance(49_999);
    expect((await ask(1)).headers.get("retry-after")).toBe("1");
    await front.clock.advance(1);
    expect((await ask(0)).status).toBe(200);
    expect((await ask(0)).headers.get("retry-after")).toBe("1");
  });

  test("another account, and a key without one, have their own quota", async () => {
    await using front = await startSearchFront({ search: "requests_per_minute = 1" });
    const { key } = await allow(front, "acme", { scopes: ["search"] });
    const ownerless = await createKey(front, { account_id: null, scopes: ["search"] });
    for (const one of [undefined, key, ownerless]) {
      expect((await front.search("x", {}, { key: one })).status).toBe(200);
      expect((await front.search("x", {}, { key: one })).status).toBe(429);
    }
  });

  test("invalid requests and other routes do not count", async () => {
    await using front = await startSearchFront({ search: "requests_per_minute = 1" });
    for (const body of [{}, "{", { query: " " }]) await front.send(body);
    await front.chat("Hello");
    expect((await front.search("x")).status).toBe(200);
    expect((await front.search("x")).status).toBe(429);
    expect((await front.search("")).status).toBe(400);
  });
});

describe("gateway.limits.shared_capacity gateway.errors.capacity_exceeded", () => {
  const SMALL = `${UNLIMITED}max_concurrent = 1\nmax_queued = 1\n`;
  /** One request is held at the engine, one waits for its turn. */
  const fill = async (front: SearchFront) => {
    const held = holdAnswers(front.server);
    const first = front.search("first");
    await held.met(1);
    const second = front.search("second");
    await untilQueued(front, 1);
    return { ...held, first, second };
  };
  /** Resolves when the metrics show this many waiting. */
  const untilQueued = async (front: SearchFront, count: number) => {
    const line = `wadi_service_requests_queued{service="search"} ${count}\n`;
    while (!(await (await front.get("/metrics")).text()).includes(line)) {
      await front.clock.advance(0);
    }
  };

  test("a request without a slot or a place in the queue gets a Retry-After, whatever its own limit", async () => {
    await using front = await startSearchFront({ search: SMALL });
    const { key } = await allow(front, "acme", { scopes: ["search"] });
    const { first, second, release } = await fill(front);
    // The line gives way at its longest: to have one turn each is all that two accounts can.
    const third = await front.search("third");
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(third.headers.get("x-should-retry")).toBeNull();
    expect(await readRefusal(third)).toEqual([429, "capacity_exceeded", null]);
    expect(front.server.asked.map(({ query }) => query.q)).toEqual(["first"]);
    release();
    expect(await readOutcome(await first)).toBe("200 5");
    expect(await readOutcome(await second)).toBe("200 5");
    expect((await front.search("x", {}, { key })).status).toBe(200);
  });

  test("gateway.errors.headers.retry_after Retry-After is estimated from earlier requests", async () => {
    await using front = await startSearchFront({ search: SMALL });
    const slow = holdAnswers(front.server);
    const before = front.search("before");
    await slow.met(1);
    await front.clock.advance(7_000);
    slow.release();
    await before;
    const { first, second, release } = await fill(front);
    const refused = await front.search("third");
    // One at work and one in line, seven seconds each.
    expect(readWaits(refused)).toEqual(["14", null]);
    release();
    await Promise.all([first, second]);
  });

  test("a request that waits too long is refused, and one whose caller leaves frees its place", async () => {
    await using front = await startSearchFront({ search: SMALL });
    const { first, second, release } = await fill(front);
    await front.clock.advance(10_000);
    expect(await readRefusal(await second)).toEqual([429, "capacity_exceeded", null]);
    const leaving = new AbortController();
    const third = front.search("third", {}, { signal: leaving.signal });
    await untilQueued(front, 1);
    leaving.abort();
    expect((await third).status).toBe(499);
    expect(await front.logged("client_closed_request")).toMatchObject({ status: 499 });
    const fourth = front.search("fourth");
    release();
    expect((await first).status).toBe(200);
    expect((await fourth).status).toBe(200);
    expect(front.server.asked.map(({ query }) => query.q)).toEqual(["first", "fourth"]);
  });

  test("a failed request frees its slot", async () => {
    await using front = await startSearchFront({ search: SMALL });
    for (let n = 0; n < 3; n++) {
      front.server.script = () => new Response("", { status: 500 });
      expect((await front.search("x")).status).toBe(502);
    }
    front.server.script = null;
    expect((await front.search("x")).status).toBe(200);
  });
});

describe("gateway.errors.service_unavailable an engine that asks for a wait", () => {
  const open = () =>
    startSearchFront(
      { kind: "brave", server: startBrave(), search: `${UNLIMITED}api_key_env = "BRAVE"` },
      { env: { BRAVE: BRAVE_KEY } },
    );
  const refuseFor = (seconds: number) => () =>
    writeBraveError(429, "RATE_LIMITED", {}, writeLimits("0, 0", `1, ${seconds}`));

  test("gateway.errors.headers.retry_after gateway.errors.headers.x_should_retry is not called until then: each caller gets the remaining time, and beyond a minute x-should-retry false", async () => {
    await using front = await open();
    front.server.script = refuseFor(3_600);
    const first = await front.search("x");
    expect(readWaits(first)).toEqual(["3600", "false"]);
    expect(await readOutcome(first)).toBe("503 service_unavailable");
    front.server.script = null;
    await front.clock.advance(1_500);
    expect(readWaits(await front.search("x"))).toEqual(["3599", "false"]);
    await front.clock.advance(3_538_499);
    expect(readWaits(await front.search("x"))).toEqual(["61", "false"]);
    await front.clock.advance(1);
    expect(readWaits(await front.search("x"))).toEqual(["60", null]);
    await front.clock.advance(59_999);
    const last = await front.search("x");
    expect(readWaits(last)).toEqual(["1", null]);
    expect(await readOutcome(last)).toBe("503 service_unavailable");
    expect(front.server.asked).toHaveLength(1);
    await front.clock.advance(1);
    expect(await readOutcome(await front.search("x"))).toBe("200 5");
    // One warning for the request that was sent, and one line for each that was not.
    expect(front.lines.map(({ level, code }) => [level, code])).toEqual([
      ["warn", "upstream_rate_limited"],
      ...Array(4).fill(["info", "upstream_rate_limited"]),
    ]);
  });

  test("is believed for at least a second and at most a month", async () => {
    await using front = await open();
    front.server.script = refuseFor(0);
    expect(readWaits(await front.search("x"))).toEqual(["1", null]);
    await front.clock.advance(1_000);
    front.server.script = refuseFor(10 ** 12);
    expect(readWaits(await front.search("x"))).toEqual([String(31 * 86_400), "false"]);
  });
});
