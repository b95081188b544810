// Tests the choice of a replica, retries on another, and the queue for slots.
import { expect, test } from "bun:test";
import type {
  Chunk,
  CompleteAttempt,
  Completion,
  CompletionOk,
  UpstreamError,
} from "../../../src/models/providers/contract.ts";
import type { HealthStatus } from "../../../src/models/replicas/health.ts";
import { Replicas, type ReplicasOptions } from "../../../src/models/replicas/replicas.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const succeed = (): Completion => ({ ok: true, finishReason: "stop", usage: USAGE });
const done = async () => succeed();
const fail = (reason: string, some: Partial<UpstreamError> = {}): UpstreamError => ({
  ok: false,
  code: "upstream_error",
  retryable: true,
  reason,
  ...some,
});
/** It replies with an error. */
const failing = async () => fail("status 500", { upstreamStatus: 500 });
/** It accepts no connections. */
const silent = async () => fail("refused", { noResponse: "surely" });

/** Scripted replicas, and the order of requests to them. */
function join(replicas: CompleteAttempt[], some: Partial<ReplicasOptions> = {}) {
  const clock = createManualClock();
  const lines: string[] = [];
  const asked: number[] = [];
  const seen: HealthStatus[] = replicas.map(() => "alive");
  /** Overrides `seen`. */
  const state: { look: (() => Promise<HealthStatus>) | null } = { look: null };
  const given_ms: (number | undefined)[] = [];
  const joined = new Replicas(
    replicas.map((_, i) => ({
      name: `host-${i}:8000`,
      server: ((ask, onChunk, signal, first_token_ms) => {
        asked.push(i);
        given_ms.push(first_token_ms);
        return replicas[i]!(ask, onChunk, signal, first_token_ms);
      }) as CompleteAttempt,
      check: () => state.look?.() ?? Promise.resolve(seen[i]!),
    })),
    {
      model: "test-1",
      max_in_flight: 0,
      health_every_ms: 10_000,
      first_token_timeout_ms: 120_000,
      clock,
      log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
      ...some,
    },
  );
  const received: string[] = [];
  const caller = new AbortController();
  const ask = (account = "account-1", signal = caller.signal) =>
    joined.call<CompletionOk>({ account, signal }, (attempt, noteChunk, left_ms) => {
      const onChunk = (chunk: Chunk) => {
        noteChunk();
        received.push(chunk.kind === "text" ? chunk.text : "");
      };
      return attempt(createAsk("Hello", { account }), onChunk, signal, left_ms);
    });
  return {
    start: () => joined.start(),
    stop: () => joined.stop(),
    forgive: () => joined.forgive(),
    isDown: () => joined.isDown(),
    status: () => joined.status(),
    ...{ state, replicas, clock, lines, asked, given_ms, seen, received, caller, ask },
  };
}

/** A replica whose requests the test ends. */
function hold() {
  const held: ((completion: Completion) => void)[] = [];
  const attempt: CompleteAttempt = () => new Promise((resolve) => held.push(resolve));
  return { held, attempt };
}

/** The outcome of a request: its code or "ok", with its attempts. */
async function outcome(completion: Promise<Completion>) {
  const one = await completion;
  return [one.ok ? "ok" : one.code, one.attempts];
}

test("equal replicas take turns", async () => {
  const { asked, ask } = join([done, done, done]);
  for (let n = 0; n < 6; n++) {
    const replica = `host-${n % 3}:8000`;
    expect(await ask()).toEqual({ ...succeed(), attempts: 1, replica, inFlight: 1 });
  }
  expect(asked).toEqual([0, 1, 2, 0, 1, 2]);
});

test("the replica with the fewest requests in flight is first", async () => {
  const { held, attempt } = hold();
  const { asked, ask } = join([attempt, done]);
  const first = ask();
  for (let n = 0; n < 4; n++) await ask();
  expect(asked).toEqual([0, 1, 1, 1, 1]);
  held[0]!(succeed());
  await first;
  const again = [ask(), ask()];
  expect(asked.slice(5).sort()).toEqual([0, 1]);
  held[1]!(succeed());
  await Promise.all(again);
});

test("if no other has a slot in time, the failure is that of the one that answered", async () => {
  const { attempt } = hold();
  const { ask, clock, asked } = join([attempt, failing], { max_in_flight: 1 });
  void ask();
  const completion = ask();
  await clock.advance(120_000);
  expect(await completion).toMatchObject({ reason: "status 500", attempts: 1, waitedMs: 120_000 });
  expect(asked).toEqual([0, 1]);
});

test("a caller who leaves while it waits for another has left, whatever failed before", async () => {
  const { attempt } = hold();
  const { ask, asked, caller, clock } = join([attempt, failing], { max_in_flight: 1 });
  void ask("account-2", new AbortController().signal);
  const completion = ask();
  await clock.advance(5_000);
  caller.abort();
  expect(await completion).toMatchObject({
    ...{ code: "client_closed_request", attempts: 1, replica: "host-1:8000", waitedMs: 5_000 },
  });
  expect(asked).toEqual([0, 1]);
});

test("the waits before each attempt add up", async () => {
  const [first, second] = [hold(), hold()];
  const { ask, clock } = join([first.attempt, second.attempt], { max_in_flight: 1 });
  void [ask(), ask()];
  const completion = ask();
  await clock.advance(1_000);
  first.held[0]!(succeed());
  await clock.advance(0);
  first.held[1]!(await failing());
  await clock.advance(2_000);
  second.held[0]!(succeed());
  await clock.advance(0);
  second.held[1]!(succeed());
  expect(await completion).toMatchObject({ ok: true, attempts: 2, waitedMs: 3_000 });
});

test("before the first chunk another takes over, and the last failure is returned", async () => {
  const { asked, ask } = join([silent, done]);
  expect(await outcome(ask())).toEqual(["ok", 2]);
  expect(asked).toEqual([0, 1]);
  const none = join([async () => fail("first"), async () => fail("second")]);
  expect(await none.ask()).toEqual({
    ...fail("second"),
    ...{ attempts: 2, replica: "host-1:8000", inFlight: 1 },
  });
});

test("after the first chunk none takes over", async () => {
  const dying: CompleteAttempt = async (_ask, onChunk) => {
    await onChunk({ kind: "text", text: "Hel" });
    return fail("died");
  };
  const { asked, received, ask } = join([dying, done]);
  expect(await ask()).toEqual({
    ...fail("died"),
    ...{ attempts: 1, replica: "host-0:8000", inFlight: 1 },
  });
  expect([asked, received]).toEqual([[0], ["Hel"]]);
});

test("an invalid request is not retried elsewhere", async () => {
  const { asked, ask } = join([async () => fail("too long", { retryable: false }), done]);
  expect(await ask()).toMatchObject({ reason: "too long" });
  expect(asked).toEqual([0]);
});

test("an overload is retried elsewhere, and is no failure of the replica", async () => {
  const busy = async () => fail("busy", { code: "upstream_rate_limited", upstreamStatus: 429 });
  const { asked, lines, ask } = join([busy, done]);
  for (let n = 0; n < 12; n++) expect((await ask()).ok).toBe(true);
  expect(asked.filter((index) => index === 0).length).toBe(6);
  expect(lines).toEqual([]);
});

test("a request that three servers fail is not sent to a fourth", async () => {
  const { asked, ask } = join([failing, failing, silent, failing, failing]);
  expect(await outcome(ask())).toEqual(["upstream_error", 4]);
  expect(asked).toEqual([0, 1, 2, 3]);
});

test("the request of a departed caller is not retried", async () => {
  const all = join([
    async () => {
      all.caller.abort();
      return fail("broke");
    },
    done,
  ]);
  expect(await all.ask()).toMatchObject({ reason: "broke" });
  expect(all.asked).toEqual([0]);
});

test("the whole request has one timeout: another replica gets the rest of it", async () => {
  const { held, attempt } = hold();
  const { clock, given_ms, ask } = join([attempt, attempt, attempt]);
  const completion = ask();
  await clock.advance(5_000);
  held[0]!(fail("could not be reached", { code: "upstream_timeout", noResponse: "surely" }));
  await clock.advance(0);
  expect(given_ms).toEqual([120_000, 115_000]);
  await clock.advance(115_000);
  held[1]!(fail("reset", { noResponse: "surely" }));
  expect(await outcome(completion)).toEqual(["upstream_error", 2]);
});

test("a replica that throws is no longer in flight", async () => {
  const bug = new Error("a bug");
  const { asked, ask } = join([() => Promise.reject(bug), done]);
  await expect(ask()).rejects.toBe(bug);
  await ask();
  await ask().catch(() => undefined);
  expect(asked).toEqual([0, 1, 0]);
});

test("after five failures the others are used, and after half a minute two trials bring it back", async () => {
  const { replicas, asked, clock, lines, ask } = join([failing, done]);
  for (let n = 0; n < 10; n++) expect((await ask()).ok).toBe(true);
  expect(asked.filter((index) => index === 0).length).toBe(5);
  expect(lines).toEqual([
    expect.objectContaining({ level: "warn", model: "test-1", upstream: "host-0:8000" }),
  ]);
  // One trial fails, without effect on the caller.
  await clock.advance(30_000);
  for (let n = 0; n < 4; n++) expect((await ask()).ok).toBe(true);
  expect(asked.filter((index) => index === 0).length).toBe(6);
  // One trial at a time: other requests use the other replica.
  await clock.advance(30_000);
  asked.length = 0;
  const { held, attempt } = hold();
  replicas[0] = attempt;
  const trials = [ask(), ask(), ask()];
  expect(asked.filter((index) => index === 0).length).toBe(1);
  held[0]!(succeed());
  await Promise.all(trials);
  replicas[0] = done;
  for (let n = 0; n < 4; n++) await ask();
  expect(lines.length).toBe(2);
  expect(lines[1]).toMatchObject({ level: "info", upstream: "host-0:8000" });
});

test("a single replica that answers with errors is still used: bad requests are no outage", async () => {
  const { replicas, asked, ask } = join([failing]);
  for (let n = 0; n < 20; n++) await ask();
  expect(asked.length).toBe(20);
  replicas[0] = done;
  expect((await ask()).ok).toBe(true);
});

test("a silent replica is refused at once with its last error, until its trial", async () => {
  const { replicas, asked, clock, ask } = join([silent], { health_every_ms: 0 });
  replicas[0] = async () =>
    fail("late", { code: "upstream_timeout", retryable: false, noResponse: "surely" });
  for (let n = 0; n < 5; n++) expect(await outcome(ask())).toEqual(["upstream_timeout", 1]);
  const refused = await ask();
  expect(refused).toEqual({
    ok: false,
    code: "upstream_timeout",
    retryable: false,
    reason: "it is passed over for a while: late",
    attempts: 0,
  });
  expect(asked.length).toBe(5);
  replicas[0] = done;
  await clock.advance(30_000);
  expect(await outcome(ask())).toEqual(["ok", 1]);
});

test("a refusal names the silence of a healthy replica, not that of one that is down", async () => {
  const quiet = (reason: string) => async () => fail(reason, { noResponse: "surely" });
  const { seen, clock, start, stop, ask } = join([quiet("down"), quiet("silent")]);
  for (let n = 0; n < 5; n++) await ask();
  seen.splice(0, 2, "refused", "silent");
  start();
  await clock.advance(0);
  expect(await ask()).toMatchObject({
    ...{ code: "upstream_error", attempts: 0, reason: "it is passed over for a while: silent" },
  });
  stop();
});

test("a healthy replica is not silent, however long its callers waited", async () => {
  const { asked, clock, start, stop, ask } = join([silent]);
  start();
  for (let n = 0; n < 3; n++) await ask();
  await clock.advance(10_000);
  for (let n = 0; n < 6; n++) await ask();
  await clock.advance(10_000);
  asked.length = 0;
  await ask();
  expect(asked).toEqual([0]);
  stop();
});

test("a replica that streams is busy, not down, although its health check fails", async () => {
  const { held, attempt } = hold();
  const { state, replicas, clock, ask, isDown, start, stop } = join([done]);
  let tell = () => {};
  replicas[0] = (asked, onChunk, ...rest) => {
    tell = () => void onChunk({ kind: "text", text: "x" });
    return attempt(asked, onChunk, ...rest);
  };
  start();
  const completion = ask();
  state.look = () => new Promise((resolve) => void clock.after(5_000, () => resolve("silent")));
  for (let n = 0; n < 60; n++) {
    tell();
    await clock.advance(1_000);
  }
  expect(isDown()).toBe(false);
  await clock.advance(30_000);
  expect(isDown()).toBe(true);
  held[0]!(succeed());
  expect(await outcome(completion)).toEqual(["ok", 1]);
  stop();
});

test("unhealthy replicas are skipped; if all are, requests fail at once, and a start resets them", async () => {
  const { seen, asked, clock, lines, start, stop, forgive, isDown, ask } = join([done, done]);
  seen[0] = "refused";
  start();
  await clock.advance(0);
  expect(isDown()).toBe(false);
  for (let n = 0; n < 3; n++) await ask();
  expect(asked).toEqual([1, 1, 1]);
  seen[1] = "unwell";
  await clock.advance(12_000);
  expect(isDown()).toBe(true);
  expect(await outcome(ask())).toEqual(["model_offline", 0]);
  forgive();
  expect(isDown()).toBe(false);
  expect(await outcome(ask())).toEqual(["ok", 1]);
  await clock.advance(4_000);
  expect(isDown()).toBe(true);
  seen.fill("alive");
  await clock.advance(2_000);
  expect(isDown()).toBe(false);
  expect(lines.length).toBeGreaterThanOrEqual(4);
  stop();
  expect(clock.pending()).toBe(0);
});

test("a request without a reply triggers a health check at once", async () => {
  const { seen, clock, start, stop, isDown, ask } = join([silent]);
  start();
  await clock.advance(5_000);
  seen[0] = "refused";
  expect(await outcome(ask())).toEqual(["upstream_error", 1]);
  await clock.advance(0);
  expect(isDown()).toBe(true);
  stop();
});

test("a reply with an error triggers no health check, since its server is there", async () => {
  const { seen, clock, start, stop, isDown, ask } = join([failing]);
  start();
  await clock.advance(5_000);
  seen[0] = "refused";
  await ask();
  await clock.advance(0);
  expect(isDown()).toBe(false);
  stop();
});

test("a request without a free slot waits, and takes a freed one in the same turn", async () => {
  const { held, attempt } = hold();
  const { asked, clock, ask } = join([attempt, attempt], { max_in_flight: 1 });
  const first = [ask(), ask()];
  const waiting = [ask("a"), ask("b")];
  await clock.advance(7_000);
  expect(asked).toEqual([0, 1]);
  held[1]!(succeed());
  await first[1];
  expect(asked).toEqual([0, 1, 1]);
  held[0]!(succeed());
  held[2]!(succeed());
  const places = { inFlight: 1, inFlightMax: 1 };
  expect(await waiting[0]).toMatchObject({ ok: true, attempts: 1, waitedMs: 7_000, ...places });
  held[3]!(succeed());
  expect(await waiting[1]).toMatchObject({ ok: true, waitedMs: 7_000 });
  expect((await first[0])?.waitedMs).toBeUndefined();
});

test("a full replica is skipped while another has a slot", async () => {
  const { attempt } = hold();
  const { asked, ask } = join([attempt, done], { max_in_flight: 1 });
  void ask();
  for (let n = 0; n < 3; n++) expect((await ask()).ok).toBe(true);
  expect(asked).toEqual([0, 1, 1, 1]);
});

test("accounts take turns: fifty requests of one do not delay another's", async () => {
  const { held, attempt } = hold();
  const order: string[] = [];
  const watched: CompleteAttempt = (ask, ...rest) => {
    order.push(ask.account);
    return attempt(ask, ...rest);
  };
  const { ask } = join([watched], { max_in_flight: 1 });
  const all = Array.from({ length: 51 }, () => ask("greedy"));
  all.push(ask("modest"), ask("modest"), ask("third"));
  for (let n = 0; n < all.length; n++) {
    held[n]!(succeed());
    await new Promise(setImmediate);
  }
  expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true);
  expect(order.slice(0, 7)).toEqual([
    "greedy",
    "greedy",
    "modest",
    "third",
    "greedy",
    "modest",
    "greedy",
  ]);
});

test("a request that waits beyond the first-token timeout fails with that reason", async () => {
  const { attempt } = hold();
  const { clock, asked, ask } = join([attempt], { max_in_flight: 1 });
  void ask();
  const late = ask();
  await clock.advance(119_999);
  expect(Bun.peek.status(late)).toBe("pending");
  await clock.advance(1);
  expect(await late).toMatchObject({ code: "upstream_timeout", attempts: 0, waitedMs: 120_000 });
  expect(asked).toEqual([0]);
});

test("a caller who leaves the queue is removed at once, and takes no slot", async () => {
  const { held, attempt } = hold();
  const { asked, ask } = join([attempt], { max_in_flight: 1 });
  void ask();
  const leaver = new AbortController();
  const left = ask("a", leaver.signal);
  const stays = ask("b");
  leaver.abort();
  expect(await outcome(left)).toEqual(["client_closed_request", 0]);
  held[0]!(succeed());
  await new Promise(setImmediate);
  held[1]!(succeed());
  expect(await outcome(stays)).toEqual(["ok", 1]);
  expect(asked.length).toBe(2);
});

test("a full queue drops the newest of the account with the most, and no other", async () => {
  const { attempt } = hold();
  const { clock, ask } = join([attempt], { max_in_flight: 1 });
  void ask();
  const greedy = Array.from({ length: 1_000 }, () => ask("greedy"));
  expect(await outcome(ask("greedy"))).toEqual(["upstream_rate_limited", 0]);
  const modest = ask("modest");
  await clock.advance(0);
  expect(greedy.filter((one) => Bun.peek.status(one) === "pending").length).toBe(999);
  expect(await outcome(greedy[999]!)).toEqual(["upstream_rate_limited", 0]);
  expect(Bun.peek.status(modest)).toBe("pending");
});

test("a queue whose replicas all go down fails; one that comes back serves it", async () => {
  const { attempt } = hold();
  const { replicas, seen, clock, start, stop, ask } = join([attempt], { max_in_flight: 1 });
  start();
  await clock.advance(0);
  void ask();
  const waiting = ask();
  seen[0] = "refused";
  await clock.advance(10_000);
  expect(await outcome(waiting)).toEqual(["model_offline", 0]);
  expect(replicas.length).toBe(1);
  stop();
});

test("a queued request is served by a replica whose breaker admits a trial", async () => {
  const { attempt } = hold();
  const { replicas, asked, clock, ask } = join([silent, done], { max_in_flight: 1 });
  for (let n = 0; n < 10; n++) await ask();
  replicas[0] = done;
  replicas[1] = attempt;
  void ask();
  const waiting = ask();
  asked.length = 0;
  await clock.advance(29_999);
  expect(asked).toEqual([]);
  await clock.advance(1);
  expect(asked).toEqual([0]);
  expect(await waiting).toMatchObject({ ok: true, attempts: 1, waitedMs: 30_000 });
});

test("a request refused by one replica waits for another, and others overtake it", async () => {
  const { held, attempt } = hold();
  const first: CompleteAttempt = (ask, ...rest) =>
    ask.account === "picky" ? silent() : attempt(ask, ...rest);
  const { asked, ask } = join([first, attempt], { max_in_flight: 1 });
  const taken = [ask("a"), ask("a")];
  const picky = ask("picky");
  const other = ask("b");
  held[0]!(succeed());
  await taken[0];
  // The picky request had the first turn, was refused, and now waits for the other replica.
  await new Promise(setImmediate);
  expect(asked).toEqual([0, 1, 0, 0]);
  const later = ask("c");
  held[2]!(succeed());
  expect(await outcome(other)).toEqual(["ok", 1]);
  held[3]!(succeed());
  expect(await outcome(later)).toEqual(["ok", 1]);
  held[1]!(succeed());
  await taken[1];
  held[4]!(succeed());
  expect(await outcome(picky)).toEqual(["ok", 2]);
  expect(asked).toEqual([0, 1, 0, 0, 0, 1]);
});

const LATE = fail("no answer in time", { code: "upstream_timeout", retryable: false });

test("the wait for a slot is not charged to the replica", async () => {
  const { held, attempt } = hold();
  const some = { max_in_flight: 1, first_token_timeout_ms: 10_000 };
  const { replicas, clock, lines, given_ms, ask } = join([attempt], some);
  for (let n = 0; n < 5; n++) {
    replicas[0] = attempt;
    const answers = [ask(), ask()];
    await clock.advance(5_001);
    replicas[0] = async () => ({ ...LATE });
    held[n]!(succeed());
    expect(await outcome(answers[1]!)).toEqual(["upstream_timeout", 1]);
  }
  expect([given_ms.slice(-2), lines]).toEqual([[10_000, 4_999], []]);
  for (let n = 0; n < 5; n++) await ask();
  expect(lines).toHaveLength(1);
});

test("a request that waits for its next replica has the rest of its time", async () => {
  const { held, attempt } = hold();
  const some = { max_in_flight: 1, first_token_timeout_ms: 10_000 };
  const { clock, ask } = join([attempt, attempt], some);
  const [first, second] = [ask(), ask()];
  await clock.advance(6_000);
  held[0]!(fail("it failed"));
  await clock.advance(3_999);
  expect(Bun.peek.status(first!)).toBe("pending");
  await clock.advance(1);
  expect(await outcome(first!)).toEqual(["upstream_error", 1]);
  held[1]!(succeed());
  await second;
});

test.each([
  ["that had half of the time for it", 5_000, LATE],
  ["to which no connection came about", 8_000, { ...LATE, retryable: true }],
] as const)("a time-out is charged to a replica %s", async (_, waitMs, late) => {
  const { held, attempt } = hold();
  const some = { max_in_flight: 1, first_token_timeout_ms: 10_000 };
  const { replicas, clock, lines, ask } = join([attempt], some);
  for (let n = 0; n < 5; n++) {
    replicas[0] = attempt;
    const answers = [ask(), ask()];
    await clock.advance(waitMs);
    replicas[0] = async () => ({ ...late });
    held[n]!(succeed());
    expect(await outcome(answers[1]!)).toEqual(["upstream_timeout", 1]);
  }
  expect(lines).toHaveLength(1);
});

test("a long trial admits the next one after its first chunk", async () => {
  const { held, attempt } = hold();
  const { replicas, clock, lines, asked, ask } = join([failing, done], { max_in_flight: 2 });
  while (lines.length === 0) await ask();
  replicas[1] = attempt;
  await clock.advance(30_000);
  let speak = () => {};
  replicas[0] = (_ask, onChunk) => {
    speak = () => void onChunk({ kind: "text", text: "Hello" });
    return new Promise((resolve) => held.push(resolve));
  };
  asked.length = 0;
  // Two fill the other replica; one is the trial; one waits.
  const answers = [ask(), ask(), ask(), ask()];
  await clock.advance(0);
  expect(asked.toSorted()).toEqual([0, 1, 1]);
  speak();
  await clock.advance(0);
  expect(asked.toSorted()).toEqual([0, 0, 1, 1]);
  for (const end of held) end(succeed());
  await Promise.all(answers);
  expect(lines).toHaveLength(2);
});

test("a replica without health checks counts as healthy for those still waiting", async () => {
  const { seen, clock, ask, start, stop, isDown } = join([done]);
  seen[0] = "refused";
  start();
  await clock.advance(0);
  expect([isDown(), await outcome(ask())]).toEqual([true, ["model_offline", 0]]);
  stop();
  expect([isDown(), await outcome(ask())]).toEqual([false, ["ok", 1]]);
});

test("a start of their managed servers serves a request that waits for another replica", async () => {
  const { attempt } = hold();
  const { replicas, asked, ask, forgive } = join([silent, done], { max_in_flight: 1 });
  for (let n = 0; n < 10; n++) await ask();
  replicas[0] = done;
  replicas[1] = attempt;
  asked.length = 0;
  void ask();
  const waiting = ask();
  await new Promise(setImmediate);
  expect(asked).toEqual([1]);
  forgive();
  expect(await outcome(waiting)).toEqual(["ok", 1]);
  expect(asked).toEqual([1, 0]);
});

test("a slot is free again only after its result has been judged", async () => {
  const { held, attempt } = hold();
  const { replicas, asked, ask } = join([attempt], { max_in_flight: 1, health_every_ms: 0 });
  const requests = Array.from({ length: 6 }, () => ask());
  const silence = fail("refused", { noResponse: "surely" });
  for (let n = 0; n < 5; n++) {
    held[n]!(silence);
    await requests[n];
  }
  // The fifth failure makes it silent, so that the sixth request is not sent.
  expect(await outcome(requests[5]!)).toEqual(["upstream_error", 0]);
  expect([asked.length, replicas.length]).toEqual([5, 1]);
});

test("failures count again once the checks have been started again", async () => {
  const { start, stop, state, asked, ask } = join([silent]);
  // A check that is alive would end the silence.
  state.look = () => new Promise(() => {});
  start();
  stop();
  start();
  for (let n = 0; n < 6; n++) await ask();
  expect(asked).toHaveLength(5);
  stop();
});

test("failures while the checks are stopped have no effect", async () => {
  const { start, stop, lines, asked, ask } = join([silent]);
  stop();
  for (let n = 0; n < 6; n++) await ask();
  start();
  // Had it counted, the replica would count as silent by now, and get no request.
  await ask();
  stop();
  expect([asked.length, lines]).toEqual([7, []]);
});

test("a repeated failure is logged once, and so is its reset", async () => {
  const { stop, forgive, lines, ask } = join([silent]);
  for (let n = 0; n < 6; n++) await ask();
  expect(lines).toHaveLength(1);
  // As after a sleep of the managed server.
  stop();
  forgive();
  expect(lines).toHaveLength(2);
});

test("its status tells requests, waiting ones, health and open breakers", async () => {
  const { held, attempt } = hold();
  const { ask, status, start, stop, seen, clock } = join([attempt, failing], { max_in_flight: 1 });
  const first = ask();
  for (let n = 0; n < 5; n++) void ask();
  await clock.advance(0);
  const shown = () => status().replicas.map(({ name: _, ...one }) => one);
  expect(status().waiting).toBe(5);
  expect(shown()).toEqual([
    { isUp: true, inFlight: 1, isBreakerOpen: false },
    { isUp: true, inFlight: 0, isBreakerOpen: true },
  ]);
  expect(status()).toMatchObject({
    model: "test-1",
    replicas: [{ name: "host-0:8000" }, { name: "host-1:8000" }],
  });
  seen[0] = "refused";
  start();
  await clock.advance(0);
  expect(shown()[0]).toMatchObject({ isUp: false });
  stop();
  held[0]!(succeed());
  await first;
});

test("replicas on one host have names of their own", () => {
  const clock = createManualClock();
  const server = { name: "host:8000", server: done, check: null };
  const options = { max_in_flight: 0, health_every_ms: 0, first_token_timeout_ms: 1, clock };
  const log = createLog(clock, () => {}, false);
  const { replicas } = new Replicas([server, server, server], { ...options, log }).status();
  expect(replicas.map(({ name }) => name)).toEqual(["host:8000", "host:8000#2", "host:8000#3"]);
});
