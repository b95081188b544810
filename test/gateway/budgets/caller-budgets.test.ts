// Tests the order of counts and writes of budgets, on a store that hangs or fails.
import { describe, expect, test } from "bun:test";
import type { Caller, Limits } from "../../../src/access/index.ts";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { CallerBudgets, limitsTokens } from "../../../src/gateway/budgets/caller-budgets.ts";
import type {
  LimitAlert,
  PeriodRanges,
  RootRow,
  SettledRequest,
} from "../../../src/gateway/budgets/store.ts";
import { withinBudgets } from "../../../src/gateway/chat/budget-check.ts";
import { InFlight } from "../../../src/gateway/in-flight.ts";
import { MeteredExecution } from "../../../src/gateway/metered/execution.ts";
import { MeteredService } from "../../../src/gateway/metered/service.ts";
import type { GatewayRecorder, RecordedOk } from "../../../src/gateway/request-log/recorder.ts";
import {
  type ServedModel,
  sumTokens,
  type UpstreamError,
  upstreamError,
} from "../../../src/models/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

const NOTHING = { requests: 0, estimated: 0, tokens: 0, cost: 0 };
const ASKED = { requests: 1, tokens: 60, cost: 0 };

/** `others`: tokens that other processes use of the limits, which this one shares with them. */
function open(limits: Limits = { tokens_day: 100 }, others: { tokens: number } | null = null) {
  const clock = createManualClock();
  const calls: string[] = [];
  const settled: number[][] = [];
  const announced: number[] = [];
  /** What a call does before it is answered. */
  const before: Record<string, () => unknown> = {};
  const call = async (name: string) => {
    calls.push(name);
    await before[name]?.();
  };
  const store = {
    async recover() {
      await call("recover");
      calls.push("recovered");
      return 0;
    },
    async sum() {
      await call("sum");
      return { ...NOTHING };
    },
    reserve: () => call("reserve"),
    async settle(requests: readonly SettledRequest[], alerts: readonly LimitAlert[]) {
      await call("settle");
      announced.push(...alerts.map(({ percent }) => percent));
      settled.push(requests.map(({ tokens }) => tokens));
    },
    ...(others && {
      forgetUses: () => call("forgetUses"),
      async reserveWithin(root: string, _row: unknown, _limited: unknown, ranges: PeriodRanges) {
        await call("reserve");
        calls.push(root);
        return { isReserved: others.tokens < 100, roots: answerUses(others.tokens, ranges) };
      },
      async settleWithin(root: string, requests: readonly SettledRequest[], alerts: LimitAlert[]) {
        await store.settle(requests, alerts);
        calls.push(root);
        return answerUses(others.tokens, sharedRanges);
      },
      readUses: async (_: unknown, ranges: PeriodRanges) => answerUses(others.tokens, ranges),
    }),
  };
  let sharedRanges: PeriodRanges;
  const answerUses = (tokens: number, ranges: PeriodRanges): RootRow[] => {
    sharedRanges = ranges;
    const used = { ...NOTHING, tokens };
    const uses = Object.values(ranges).map((range) => {
      return { ...range, used, reserved: { requests: 0, tokens: 0, cost: 0 } };
    });
    return [{ subject: "account a-1", uses }];
  };
  const budgets = new CallerBudgets({
    database: { bind: () => store as never },
    clock,
    ids: createSeededIds(),
    log: createLog(clock, () => {}, false),
    ...{ zone: "UTC", currency: () => "SAR" },
    hasHeaders: () => false,
    shared: others && { epoch: 1, join() {} },
  });
  const caller: Caller = {
    ...{ key_id: "k-1", account_id: "a-1", kind: "ordinary", scopes: [], models: null },
    ...{ max_output_tokens: null, limits: { account: limits, key: null } },
  };
  const reserve = async (tokens = ASKED.tokens) =>
    (await budgets.reserve(caller, { ...ASKED, tokens }, () => ({ tokens: 7, cost: 0 })))!;
  const find = async () => (await budgets.list(caller)).account[0]!;
  const log = createLog(clock, () => {}, false);
  return { budgets, caller, log, clock, calls, settled, announced, before, reserve, find };
}

/** Fails the next calls with these errors, and none after them. */
function failWith(...errors: Error[]): () => void {
  return () => {
    const error = errors.shift();
    if (error) throw error;
  };
}

test("a prompt is counted where the key or its account has a limit of tokens or money", () => {
  const counts = (account: Limits | null, key: Limits | null) =>
    limitsTokens({ limits: { account, key } } as Caller);
  expect(counts({ tokens_day: 1 }, { requests_day: 1 })).toBe(true);
  expect(counts({ requests_day: 1 }, { cost_month: 1 })).toBe(true);
  expect(counts({ requests_day: 1 }, null)).toBe(false);
  expect(limitsTokens({} as Caller)).toBe(false);
});

test("a model without a price is refused for good, also where a retry could fit the tokens", async () => {
  const { budgets, caller } = open({ tokens_day: 100, cost_day: 100 });
  const needed = { requests: 1, tokens: 101, cost: null };
  await expect(budgets.check(caller, needed)).rejects.toMatchObject({
    code: "permission_denied",
    details: { param: "model", headers: { "x-should-retry": "false" } },
  });
});

test.each<[string, Limits, Limits]>([
  ["of the account, beside tokens of its key,", { cost_day: 100 }, { tokens_day: 100 }],
  ["of the key, beside tokens of its account,", { tokens_day: 100 }, { cost_day: 100 }],
])("money %s admits no model without a price", async (_, account, key) => {
  const { budgets, caller } = open();
  const asking = { ...caller, limits: { account, key } };
  const needed = { requests: 1, tokens: 1, cost: null };
  const refusal = { code: "permission_denied", details: { param: "model" } };
  await expect(budgets.check(asking, needed)).rejects.toMatchObject(refusal);
  const unused = { tokens: 0, cost: 0 };
  await expect(budgets.reserve(asking, needed, () => unused)).rejects.toMatchObject(refusal);
  await budgets.check(asking, { ...needed, cost: 1 });
});

test("a request that fits once those under way have ended waits for them, not for the day", async () => {
  const { reserve } = open();
  (await reserve(40)).settle({ tokens: 40, cost: 0 }, false);
  const underWay = await reserve(10);
  const headersOf = (seconds: string) => ({ details: { headers: { "retry-after": seconds } } });
  await expect(reserve(60)).rejects.toMatchObject(headersOf("1"));
  await expect(reserve(61)).rejects.toMatchObject(headersOf("43200"));
  underWay.release();
  await reserve(60);
});

test("money that requests under way may leave is no final refusal", async () => {
  const { budgets, caller } = open({ cost_day: 100 });
  const take = (cost: number) =>
    budgets.reserve(caller, { ...ASKED, cost }, () => ({ tokens: 0, cost: 0 }));
  const underWay = (await take(60))!;
  const waits = { code: "rate_limit_exceeded", details: { headers: { "retry-after": "1" } } };
  await expect(take(60)).rejects.toMatchObject(waits);
  underWay.settle({ tokens: 0, cost: 60 }, false);
  await expect(take(60)).rejects.toMatchObject({ code: "permission_denied" });
});

test("a request beyond several limits waits for the period that ends last", async () => {
  const { reserve } = open({ tokens_minute: 50, tokens_day: 100 });
  (await reserve(50)).settle({ tokens: 50, cost: 0 }, false);
  await expect(reserve(50)).rejects.toMatchObject({
    details: { headers: { "retry-after": "60" } },
  });
  const { clock, reserve: take } = open({ tokens_minute: 60, tokens_day: 100 });
  (await take(55)).settle({ tokens: 55, cost: 0 }, false);
  const never = { headers: { "retry-after": "60", "x-should-retry": "false" } };
  await expect(take(61)).rejects.toMatchObject({ details: never });
  await clock.advance(60_000);
  (await take(40)).settle({ tokens: 40, cost: 0 }, false);
  const both = { headers: { "retry-after": "43140" } };
  await expect(take(30)).rejects.toMatchObject({ details: both });
});

test("of limits that refuse for equally long the account's is named", async () => {
  const { budgets, caller } = open();
  const limits = { account: { tokens_day: 50 }, key: { tokens_day: 40 } };
  await expect(budgets.check({ ...caller, limits }, ASKED)).rejects.toMatchObject({
    message: expect.stringContaining("the limit of this account is 50 a day"),
  });
});

test("a limit that is used to 80 percent exactly counts as reached by the next refusal", async () => {
  const { clock, announced, reserve } = open();
  (await reserve(80)).settle({ tokens: 80, cost: 0 }, false);
  await expect(reserve(21)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
  await clock.advance(0);
  expect(announced).toEqual([80, 100]);
});

test("a reservation that cannot be stored holds nothing", async () => {
  const { before, reserve, find } = open();
  before.reserve = failWith(new Error("no disk"));
  await expect(reserve()).rejects.toThrow("no disk");
  expect(await find()).toMatchObject({ used: 0, reserved: 0 });
  await reserve();
  expect(await find()).toMatchObject({ used: 0, reserved: 60 });
});

describe("beside other processes", () => {
  test("a reservation whose answer was lost is given back to its account", async () => {
    const { before, calls, clock, reserve, settled } = open({ tokens_day: 100 }, { tokens: 0 });
    before.reserve = failWith(new Error("connection lost"));
    await expect(reserve()).rejects.toThrow("connection lost");
    await clock.advance(0);
    expect([settled, calls.at(-1)]).toEqual([[[0]], "a-1"]);
  });

  test("a refusal of the database is explained by what others have used", async () => {
    const { reserve, find } = open({ tokens_day: 100 }, { tokens: 100 });
    await expect(reserve()).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    expect(await find()).toMatchObject({ used: 100 });
  });

  test("a check that fails by what was known asks what others have used since", async () => {
    const others = { tokens: 100 };
    const { budgets, caller, reserve } = open({ tokens_day: 100 }, others);
    await expect(reserve()).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    others.tokens = 0;
    await budgets.check(caller, ASKED);
  });

  test("a takeover charges nothing: those who have reserved it settle it themselves", async () => {
    const { budgets, calls } = open({ tokens_day: 100 }, { tokens: 0 });
    await budgets.inherit(Number.MAX_SAFE_INTEGER);
    expect(calls).toEqual([]);
  });

  test("a limit that others have used up meanwhile is announced by the next end of a request", async () => {
    const others = { tokens: 0 };
    const { announced, clock, reserve } = open({ tokens_day: 100 }, others);
    const reservation = await reserve(1);
    others.tokens = 90;
    reservation.settle({ tokens: 1, cost: 0 }, false);
    await clock.advance(0);
    expect(announced).toEqual([80]);
  });
});

test("a clock that is set back by a period still finds what requests under way have reserved", async () => {
  const { clock, find, reserve } = open({ tokens_minute: 100 });
  await reserve();
  clock.shiftWall(60_000);
  expect(await find()).toMatchObject({ reserved: 0 });
  clock.shiftWall(-60_000);
  expect(await find()).toMatchObject({ reserved: 60 });
});

test("what dead processes have reserved is charged before any use is read", async () => {
  const { calls, find } = open();
  await find();
  expect(calls).toEqual(["recover", "recovered", "sum", "sum", "sum"]);
});

test("a failed recovery and a failed read are repeated by the next request", async () => {
  const { before, reserve } = open();
  before.recover = failWith(new Error("no disk"));
  await expect(reserve()).rejects.toThrow("no disk");
  before.sum = failWith(new Error("still none"));
  await expect(reserve()).rejects.toThrow("still none");
  await reserve();
});

test("a stop settles the requests under way, and has time for their writes without any left", async () => {
  const { budgets, clock, settled, before, reserve } = open();
  const written = Promise.withResolvers<void>();
  before.settle = () => written.promise;
  await reserve();
  let isStopped = false;
  const stopping = Promise.resolve(budgets.service.stop(0)).then(() => {
    isStopped = true;
  });
  await clock.advance(1_999);
  expect(isStopped).toBe(false);
  written.resolve();
  await stopping;
  expect([settled, clock.pending()]).toEqual([[[7]], 0]);
});

test("settled requests wait for the database, and a bug loses only the one that has it", async () => {
  const { clock, settled, before, reserve } = open();
  const settle = async (tokens: number) =>
    (await reserve(tokens)).settle({ tokens, cost: 0 }, false);
  before.settle = failWith(new DatabaseUnavailable("away"), new Error("bug"), new Error("bug"));
  for (const tokens of [1, 2, 3]) await settle(tokens);
  for (let rest = 0; rest < 3; rest++) await clock.advance(1_000);
  expect(settled).toEqual([[2], [3]]);
  const written = Promise.withResolvers<void>();
  before.settle = () => written.promise;
  for (const tokens of [4, 5, 6]) await settle(tokens);
  written.resolve();
  await clock.advance(0);
  expect(settled).toEqual([[2], [3], [4], [5, 6]]);
});

test("a caller who leaves while its prompt is counted reserves nothing, and no model is asked", async () => {
  const { budgets, caller, calls } = open();
  const leaving = new AbortController();
  const countTokens = async () => {
    leaving.abort();
    return 10;
  };
  const model = { settings: { price: null }, backend: { countTokens } } as unknown as ServedModel;
  const complete = withinBudgets(
    { budgets, caller, model, countTexts: async () => null, attempts: 1 },
    (checked) => checked,
    () => Promise.reject(new Error("it was asked")),
  );
  const request = { ...createAsk("Hello"), max_tokens: 60 };
  expect(await complete(request, () => {}, leaving.signal)).toMatchObject({
    code: "client_closed_request",
  });
  expect(calls).not.toContain("reserve");
});

describe("a bug while a request is under way is charged, and frees what it has reserved,", () => {
  const bug = new Error("a bug");
  const { signal } = new AbortController();

  test("of a chat: its prompt and what was delivered", async () => {
    const { budgets, caller, find } = open();
    const model = {
      settings: { price: null },
      backend: { countTokens: async () => 10 },
    } as unknown as ServedModel;
    const options = { budgets, caller, model, countTexts: async () => null, attempts: 1 };
    const complete = withinBudgets(
      options,
      (checked) => checked,
      async (_request, onChunk) => {
        // Its caller still holds the last piece back.
        void onChunk({ kind: "text", text: "a".repeat(20) });
        void onChunk({ kind: "call", index: 0, id: "c", name: "f", arguments: "a".repeat(20) });
        throw bug;
      },
    );
    const request = { ...createAsk("Hello"), max_tokens: 60 };
    const hold = () => new Promise<void>(() => {});
    await expect(complete(request, hold, signal)).rejects.toBe(bug);
    expect(await find()).toMatchObject({ used: 20, reserved: 0, estimated_requests: 1 });
  });

  test("of a metered service: all of it", async () => {
    const { run, find } = openMetered();
    await expect(run(() => Promise.reject(bug))).rejects.toBe(bug);
    expect(await find()).toMatchObject({ used: 60, reserved: 0, estimated_requests: 1 });
  });
});

/** A service whose requests use up to 60 tokens. */
function openMetered() {
  const { budgets, caller, clock, log, find } = open();
  const backend = { isDown: () => false, start() {}, stop() {} };
  const plan = { kind: "some", requests_per_minute: 9, max_concurrent: 1, max_queued: 0 };
  const service = new MeteredService({ name: "wishes", clock, plan, open: () => backend });
  const execution = new MeteredExecution({
    ...{ service, budgets, clock, log, running: new InFlight(), writeHeaders: () => ({}) },
    ...{ route: "POST /v1/wishes", backendName: "wishes" },
  });
  const { signal } = new AbortController();
  const recorder = { markAsked() {}, setResult() {} } as unknown as GatewayRecorder;
  const charge = { countTokens: () => 60, costOf: () => 0 };
  const context = { caller, signal, recorder, charge, request_id: "r-1", trace: null };
  const run = (work: () => Promise<RecordedOk | UpstreamError>) => execution.run(context, work);
  return { run, find };
}

test.each<[string, RecordedOk | UpstreamError, used: number, estimated: number]>([
  ["a reply", { ok: true, usage: sumTokens(30, 0) }, 30, 0],
  ["a reply without usage", { ok: true, usage: sumTokens(30, 0), usageEstimated: true }, 30, 1],
  ["a refusal", upstreamError("upstream_rate_limited", "why"), 0, 0],
  ["a reply that broke off", upstreamError("upstream_error", "why"), 60, 1],
])(
  "%s of a metered service uses what it took, and holds nothing",
  async (_, result, used, estimated) => {
    const { run, find } = openMetered();
    await run(async () => ({ ...result }));
    expect(await find()).toMatchObject({ used, reserved: 0, estimated_requests: estimated });
  },
);
