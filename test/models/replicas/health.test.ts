// Tests the health checks of a replica, and what makes it unhealthy.
import { expect, test } from "bun:test";
import {
  createHealthCheck,
  type HealthStatus,
  isWatched,
  ReplicaHealth,
} from "../../../src/models/replicas/health.ts";
import { createTrustedEgress, OWN_ACCOUNT } from "../../../src/net/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { startUpstream } from "../../support/upstream.ts";

/** A replica with scripted health; "late" keeps a check pending until its timeout. */
function watch(everyMs = 10_000) {
  const clock = createManualClock();
  const state = {
    seen: "alive" as HealthStatus | "late" | "bug",
    /** Result of a late check that is aborted. */
    cut: "silent" as HealthStatus,
    ...{ looks: 0, heard: 0, alive: 0 },
  };
  /** What was told, in its order. */
  const told: string[] = [];
  const bugs: unknown[] = [];
  const turns: boolean[] = [];
  const health = new ReplicaHealth({
    check(signal) {
      state.looks += 1;
      const { seen } = state;
      if (seen === "bug") return Promise.reject(new Error("a bug"));
      if (seen !== "late") return Promise.resolve(seen);
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(state.cut), { once: true });
      });
    },
    everyMs,
    clock,
    countLife: () => state.heard,
    onAlive() {
      state.alive += 1;
      told.push("alive");
    },
    onTurn(isHealthy) {
      turns.push(isHealthy);
      told.push(isHealthy ? "healthy" : "unhealthy");
    },
    onBug: (bug) => bugs.push(bug),
  });
  return {
    ...{ clock, state, turns, told, bugs },
    start: () => health.start(),
    stop: () => health.stop(),
    doubt: () => health.doubt(),
    forgive: () => health.forgive(),
    isHealthy: () => health.isHealthy,
  };
}

test("it is checked at the start and then every ten seconds, one check at a time", async () => {
  const { clock, state, start, stop } = watch();
  start();
  start();
  await clock.advance(30_000);
  expect([state.looks, state.alive]).toEqual([4, 4]);
  // Only the next check waits: a check that has ended leaves no time limit behind.
  expect(clock.pending()).toBe(1);
  state.seen = "late";
  await clock.advance(14_999);
  expect(state.looks).toBe(5);
  stop();
  expect(clock.pending()).toBe(0);
  await clock.advance(60_000);
  expect(state.looks).toBe(5);
});

test("a check that throws is logged, has no result, and is not the last", async () => {
  const { clock, state, turns, bugs, start } = watch();
  start();
  state.seen = "bug";
  await clock.advance(30_000);
  expect([state.looks, bugs.length, turns]).toEqual([4, 3, []]);
});

test("two failed checks in a row make it unhealthy, two apart do not", async () => {
  const { clock, state, turns, start, isHealthy } = watch();
  start();
  await clock.advance(0);
  for (const [seen, passes_ms, is] of [
    ["unwell", 10_000, true],
    ["alive", 2_000, true],
    ["unwell", 10_000, true],
    ["unwell", 2_000, false],
  ] as const) {
    state.seen = seen;
    await clock.advance(passes_ms);
    expect([seen, isHealthy()]).toEqual([seen, is]);
  }
  expect(turns).toEqual([false]);
});

test("a refused connection makes it unhealthy at once, and one success healthy again", async () => {
  const { clock, state, turns, start, isHealthy } = watch();
  state.seen = "refused";
  start();
  await clock.advance(0);
  expect(isHealthy()).toBe(false);
  await clock.advance(6_000);
  expect(state.looks).toBe(4);
  state.seen = "alive";
  await clock.advance(2_000);
  expect(isHealthy()).toBe(true);
  await clock.advance(9_999);
  expect([state.looks, turns]).toEqual([5, [false, true]]);
});

test("a failed check delays the next one by no more than a good one", async () => {
  const { clock, state, start, isHealthy } = watch(1_000);
  start();
  await clock.advance(0);
  state.seen = "unwell";
  await clock.advance(1_000);
  expect([state.looks, isHealthy()]).toEqual([2, true]);
  await clock.advance(1_000);
  expect([state.looks, isHealthy()]).toEqual([3, false]);
});

test("no reply within five seconds fails the check, unless requests are answered meanwhile", async () => {
  const { clock, state, start, isHealthy } = watch();
  state.seen = "late";
  start();
  for (let n = 0; n < 5; n++) {
    await clock.advance(4_000);
    state.heard += 1;
    await clock.advance(11_000);
    expect(isHealthy()).toBe(true);
  }
  await clock.advance(17_000);
  expect(isHealthy()).toBe(false);
});

test.each(["unwell", "refused"] as const)(
  "a replica that is %s is believed, whatever its requests get",
  async (seen) => {
    const { clock, state, start, stop, isHealthy } = watch();
    start();
    await clock.advance(0);
    state.seen = seen;
    // Its requests are answered while it is checked.
    Object.defineProperty(state, "heard", { get: () => state.looks });
    await clock.advance(12_000);
    expect(isHealthy()).toBe(false);
    stop();
  },
);

test("a doubt triggers a check at once, at most every two seconds and one at a time", async () => {
  const { clock, state, start, doubt, stop } = watch();
  doubt();
  expect(state.looks).toBe(0);
  start();
  await clock.advance(1_999);
  doubt();
  expect(state.looks).toBe(1);
  await clock.advance(1);
  state.seen = "late";
  doubt();
  doubt();
  expect(state.looks).toBe(2);
  await clock.advance(4_000);
  doubt();
  expect(state.looks).toBe(2);
  // The check that fails after five seconds is repeated two seconds later.
  state.seen = "alive";
  await clock.advance(3_000);
  expect(state.looks).toBe(3);
  // Its begin counts.
  await clock.advance(1_999);
  doubt();
  expect(state.looks).toBe(3);
  await clock.advance(1);
  doubt();
  expect(state.looks).toBe(4);
  stop();
  doubt();
  expect(state.looks).toBe(4);
});

test("a doubt right after a check that took long triggers another one", async () => {
  const { clock, state, start, doubt, stop } = watch();
  state.seen = "late";
  start();
  await clock.advance(5_000);
  doubt();
  expect(state.looks).toBe(2);
  stop();
});

test("a replica that is back is noted as alive before it is told to be healthy", async () => {
  const { clock, state, told, start, stop } = watch();
  state.seen = "refused";
  start();
  await clock.advance(0);
  state.seen = "alive";
  await clock.advance(2_000);
  // Requests that wait go on at the second, and must not find it silent any more.
  expect(told).toEqual(["unhealthy", "alive", "healthy"]);
  stop();
});

test("a start of its managed server makes it healthy until the next check", async () => {
  const { clock, state, turns, start, forgive, isHealthy } = watch();
  state.seen = "refused";
  start();
  await clock.advance(0);
  forgive();
  forgive();
  expect(isHealthy()).toBe(true);
  await clock.advance(2_000);
  expect([isHealthy(), turns]).toEqual([false, [false, true, false]]);
});

test("the result of a stopped check is ignored", async () => {
  const { clock, state, turns, start, stop } = watch();
  state.seen = "late";
  state.cut = "refused";
  start();
  stop();
  await clock.advance(0);
  expect(turns).toEqual([]);
  state.seen = "alive";
  start();
  await clock.advance(0);
  expect(state.alive).toBe(1);
  stop();
});

test.each([
  ["a server of ours", true, "", 10_000, true],
  ["a provider's", false, "", 10_000, false],
  ["a provider's with a route", false, "/status", 10_000, true],
  ["one with the check switched off", true, "/health", 0, false],
])("%s is checked, or not", (_, self_hosted, health, health_every_ms, isChecked) => {
  const upstream = { kind: "openai", health, health_every_ms };
  expect(isWatched({ self_hosted, upstream } as Parameters<typeof isWatched>[0])).toBe(isChecked);
});

test("a stop forgets the failed checks before it", async () => {
  const { clock, state, start, stop, isHealthy } = watch();
  state.seen = "unwell";
  for (let n = 0; n < 3; n++) {
    start();
    await clock.advance(0);
    expect([state.looks, isHealthy()]).toEqual([n + 1, true]);
    stop();
  }
});

test("a server is alive with any status below 500, also 404 without such a route", async () => {
  const clock = createManualClock();
  const egress = createTrustedEgress({ clock });
  const upstream = startUpstream();
  const url = `${upstream.url.replace("/v1", "")}/health`;
  const look = createHealthCheck(egress.open(url, { headers: {}, connectTimeoutMs: 5_000 }));
  const { signal } = new AbortController();
  const seen: Record<number, HealthStatus> = {};
  for (const status of [200, 302, 404, 429, 500, 503]) {
    upstream.health = status;
    seen[status] = await look(signal);
  }
  expect(seen).toEqual({
    200: "alive",
    302: "alive",
    404: "alive",
    429: "alive",
    500: "unwell",
    503: "unwell",
  });
  egress.close();
  await upstream.stop();
  expect(await look(signal)).toBe("refused");
  expect(await look(AbortSignal.abort())).toBe("silent");
});

test("an observer that throws is logged, and the checks continue", async () => {
  const clock = createManualClock();
  const bug = new Error("bug 7");
  const bugs: unknown[] = [];
  let looks = 0;
  const health = new ReplicaHealth({
    ...{ clock, everyMs: 10_000, countLife: () => 0, onAlive() {} },
    async check() {
      looks++;
      return "refused";
    },
    onTurn() {
      throw bug;
    },
    onBug: (error) => bugs.push(error),
  });
  health.start();
  await clock.advance(4_000);
  expect([looks, bugs]).toEqual([3, [bug]]);
  health.stop();
});

test("a check is a request of the program's own, of whatever size its answer is", async () => {
  const asked: unknown[] = [];
  const look = createHealthCheck({
    post: () => {
      throw new Error("a check changes nothing");
    },
    get(headers, listener, account) {
      asked.push(headers, account);
      const head = { status: 200, header: () => null, length: null, isChunked: true, isKept: true };
      queueMicrotask(() => {
        listener.onHead(head);
        listener.onBody(Buffer.alloc(65_537));
      });
      return { cut: () => void asked.push("cut"), pause() {}, resume() {} };
    },
  });
  expect(await look(new AbortController().signal)).toBe("alive");
  expect(asked).toEqual([{}, OWN_ACCOUNT, "cut"]);
});

test("a server that was just started begins without missed checks", async () => {
  const { clock, state, turns, start, stop, forgive } = watch();
  state.seen = "unwell";
  start();
  await clock.advance(0);
  forgive();
  await clock.advance(2_000);
  expect(turns).toEqual([]);
  await clock.advance(2_000);
  expect(turns).toEqual([false]);
  stop();
});
