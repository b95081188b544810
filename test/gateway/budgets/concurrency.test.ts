// Tests 64 callers on one budget: nothing is above the limit, and nothing that fits is refused.
import { describe, expect, test } from "bun:test";
import type { Caller, Limits } from "../../../src/access/index.ts";
import type { Claimant } from "../../../src/cluster/index.ts";
import { type Database, DatabaseUnavailable } from "../../../src/database/index.ts";
import { CallerBudgets, type Reservation } from "../../../src/gateway/budgets/caller-budgets.ts";
import { budgetStore, type ReservationRow } from "../../../src/gateway/budgets/store.ts";
import { ApiError } from "../../../src/platform/errors.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";
import { openTestDatabase } from "../../support/database.ts";
import { createDraw } from "../../support/draw.ts";
import { createSeededIds } from "../../support/ids.ts";
import { answerWhole, openBudgetFront, PROMPT } from "./fixture.ts";

const CALLERS = 64;

function openDraw(seed: number) {
  const draw = createDraw(seed);
  /** A whole number from 0 up to `bound`. */
  return (bound: number) => Math.floor(draw() * bound);
}

/** `losesAnswers`: a reservation is committed, and its answer is lost with the connection. */
async function openBudgets(limits: Limits, losesAnswers = false) {
  const database = await openTestDatabase({ kind: "memory" });
  const clock = createManualClock();
  const log = createLog(clock, () => {}, false);
  const zone = "UTC";
  const hasHeaders = () => false;
  const bind = (store: typeof budgetStore) => {
    const bound = database.bind(store);
    const reserve = async (row: ReservationRow) => {
      await bound.reserve(row);
      throw new DatabaseUnavailable("the connection was cut");
    };
    return losesAnswers ? { ...bound, reserve } : bound;
  };
  const budgets = new CallerBudgets({
    database: { bind } as Pick<Database, "bind">,
    clock,
    ids: createSeededIds(),
    log,
    zone,
    hasHeaders,
    currency: () => "SAR",
  });
  const caller: Caller = {
    ...{ key_id: "k-1", account_id: "a-1", kind: "ordinary", scopes: [], models: null },
    ...{ max_output_tokens: null, limits: { account: limits, key: null } },
  };
  const reserve = (tokens: number, cost = 0) =>
    budgets
      .reserve(caller, { requests: 1, tokens, cost }, () => ({ tokens: 0, cost: 0 }))
      .then(
        (reservation) => reservation!,
        (error: unknown) => {
          expect(error).toBeInstanceOf(ApiError);
          return null;
        },
      );
  const find = async () => (await budgets.list(caller)).account[0]!;
  return { database, budgets, caller, clock, reserve, find, close: () => database.close() };
}

describe("reservations", () => {
  test("whose commit is not answered leave no row behind", async () => {
    const { database, budgets, caller, clock, close } = await openBudgets(
      { tokens_day: 100 },
      true,
    );
    const needed = { requests: 1, tokens: 60, cost: 0 };
    const estimate = () => ({ tokens: 0, cost: 0 });
    const lost = () => budgets.reserve(caller, needed, estimate);
    await expect(lost()).rejects.toBeInstanceOf(DatabaseUnavailable);
    await clock.advance(1_000);
    const store = database.bind(budgetStore);
    expect(await store.listReservations()).toEqual([]);
    expect(await store.sum("account a-1", 900_000, 0, clock.now())).toMatchObject({ tokens: 0 });
    await close();
  });

  test("made at once are granted in their order, as long as they fit", async () => {
    const { reserve, find, close } = await openBudgets({ tokens_day: 1_000 });
    const needs = Array.from({ length: CALLERS }, (_, n) => 10 + ((n * 37) % 90));
    let free = 1_000;
    const expected = needs.map((need) => {
      if (need > free) return false;
      free -= need;
      return true;
    });
    const granted = await Promise.all(needs.map((need) => reserve(need)));
    expect(granted.map((one) => one !== null)).toEqual(expected);
    expect(await find()).toMatchObject({ used: 0, reserved: 1_000 - free });
    await close();
  });

  test.each([1, 2, 3])("are refused exactly where they do not fit: order %i", async (seed) => {
    const draw = openDraw(seed);
    const limits = { tokens_day: 5_000, requests_day: 400, cost_month: 90_000 };
    const { reserve, close } = await openBudgets(limits);
    const open: { reservation: Reservation; tokens: number; cost: number }[] = [];
    const used = { requests: 0, tokens: 0, cost: 0 };
    const held = { requests: 0, tokens: 0, cost: 0 };
    let refused = 0;
    for (let step = 0; step < 2_000; step++) {
      if (open.length > 0 && draw(2) === 0) {
        const { reservation, tokens, cost } = open.splice(draw(open.length), 1)[0]!;
        held.requests -= 1;
        held.tokens -= tokens;
        held.cost -= cost;
        if (draw(3) === 0) reservation.release();
        else {
          const part = draw(101) / 1_000;
          const [spentTokens, spentCost] = [Math.floor(tokens * part), Math.floor(cost * part)];
          reservation.settle({ tokens: spentTokens, cost: spentCost }, false);
          // A second end changes nothing.
          reservation.release();
          used.requests += 1;
          used.tokens += spentTokens;
          used.cost += spentCost;
        }
        continue;
      }
      const [tokens, cost] = [draw(900), draw(16_000)];
      const fits =
        used.requests + held.requests + 1 <= limits.requests_day &&
        used.tokens + held.tokens + tokens <= limits.tokens_day &&
        used.cost + held.cost + cost <= limits.cost_month;
      const reservation = await reserve(tokens, cost);
      expect([step, reservation !== null]).toEqual([step, fits]);
      if (!reservation) refused++;
      else {
        open.push({ reservation, tokens, cost });
        held.requests += 1;
        held.tokens += tokens;
        held.cost += cost;
      }
    }
    expect(refused).toBeGreaterThan(100);
    await close();
  });
});

test("64 callers use a budget of tokens and one of money to their ends, and no further", async () => {
  await using front = await openBudgetFront();
  const limits = { tokens_day: 20_000, cost_month: 36_000 };
  await front.limit(limits);
  const draw = openDraw(7);
  let served = 0;
  front.upstream.script = async (asked) => {
    if (asked.path.endsWith("/tokenize")) return answerWhole(asked);
    await new Promise(setImmediate);
    const tokens = 1 + draw(asked.body.max_tokens as number);
    served += PROMPT + tokens;
    return answerWhole(asked, tokens);
  };
  const outcomes = new Map<string, number>();
  const call = async () => {
    for (let turn = 0; turn < 8; turn++) {
      const outcome = await front.outcome(front.ask(1 + draw(200)));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  const { tokens, cost, estimated } = await front.used();
  expect(estimated).toBe(0);
  expect(tokens).toBe(served);
  expect(tokens).toBeLessThanOrEqual(limits.tokens_day);
  expect(cost).toBeLessThanOrEqual(limits.cost_month);
  expect(await front.reservations()).toBe(0);
  expect([...outcomes.keys()].toSorted()[0]).toBe("201");
  // What is left is usable to the last token.
  const left = Math.min(
    limits.tokens_day - tokens - PROMPT,
    Math.floor((limits.cost_month - cost - PROMPT) / 2),
  );
  front.upstream.script = (asked) => answerWhole(asked);
  if (left > 0) expect(await front.outcome(front.ask(left))).toBe("201");
  expect(await front.outcome(front.ask(1))).not.toBe("201");
});

describe("several processes on one database", () => {
  const UNUSED = { tokens: 0, cost: 0 };
  const limits = { tokens_day: 100 };

  async function openTwo() {
    const database = await openTestDatabase({ kind: "memory" });
    const clock = createManualClock();
    const caller: Caller = {
      ...{ key_id: "k-1", account_id: "a-1", kind: "ordinary", scopes: [], models: null },
      ...{ max_output_tokens: null, limits: { account: limits, key: null } },
    };
    const begin = (epoch: number) => {
      const claimants: Claimant[] = [];
      const budgets = new CallerBudgets({
        ...{ database, clock, zone: "UTC", hasHeaders: () => false, currency: () => "SAR" },
        ids: createSeededIds(epoch),
        log: createLog(clock, () => {}, false),
        shared: { epoch, join: (claimant) => void claimants.push(claimant) },
      });
      const check = (tokens: number) => budgets.check(caller, { requests: 1, tokens, cost: 0 });
      const reserve = async (tokens: number) =>
        (await budgets.reserve(caller, { requests: 1, tokens, cost: 0 }, () => UNUSED))!;
      const list = async () => (await budgets.list(caller)).account[0]!;
      return { check, reserve, list, claimants };
    };
    return { one: begin(1), other: begin(2), database, clock };
  }

  test("each shows and keeps to what the others use and reserve", async () => {
    const { one, other, database, clock } = await openTwo();
    const reservation = await one.reserve(60);
    expect(await other.list()).toMatchObject({ used: 0, reserved: 60 });
    await expect(other.check(60)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    reservation.settle({ tokens: 10, cost: 0 }, false);
    while ((await database.bind(budgetStore).listReservations()).length > 0) await clock.advance(0);
    await other.check(90);
    await (await other.reserve(90)).release();
    await database.close();
  });

  test("what a dead one has reserved is charged in full, and what a living one has is not", async () => {
    const { one, other, database } = await openTwo();
    await one.reserve(30);
    await other.reserve(20);
    await other.claimants[0]!.reclaim((epoch) => epoch === 1);
    expect(await other.list()).toMatchObject({ used: 30, reserved: 20 });
    await database.close();
  });
});
