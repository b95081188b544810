// Budgets of accounts that three processes serve at once, on one PostgreSQL.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { DatabaseLocation } from "../../../src/database/index.ts";
import { QUARTER_MS } from "../../../src/gateway/budgets/period.ts";
import { budgetStore } from "../../../src/gateway/budgets/store.ts";
import { outboxStore } from "../../../src/outbox/store.ts";
import { type Ground, openServer } from "../../support/database.ts";
import { createDraw } from "../../support/draw.ts";
import { answerWhole, type BudgetFront, openBudgetFront, PROMPT } from "./fixture.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) describe("three processes", () => testShared(address));
else test.skip("shared budgets: skipped, since WADI_TEST_POSTGRES names no server", () => {});

const CALLERS = 8;
const TURNS = 8;
/** More than the silence after which a process counts as dead. */
const BEATS = 8;
const BEAT_MS = 2_000;
const LONE = { isDoubled: false };

function testShared(server: string): void {
  let ground: Ground;
  let place: DatabaseLocation & { kind: "postgres" };
  let fronts: BudgetFront[];
  let starts = 0;
  beforeAll(() => {
    ground = openServer(server);
  });
  afterAll(() => ground.release());
  beforeEach(async () => {
    const made = await ground.makePlace();
    if (made.kind !== "postgres") throw new Error("not PostgreSQL");
    place = { ...made, isShared: true };
    fronts = [];
    for (let n = 0; n < 3; n++) await join();
  });
  afterEach(async () => {
    for (const front of fronts) await front.stop();
  });

  async function join(): Promise<BudgetFront> {
    const [first] = fronts;
    const front = await openBudgetFront({
      ...LONE,
      place,
      listens: true,
      seed: ++starts,
      key: first?.key,
    });
    fronts.push(front);
    return front;
  }

  const store = () => fronts[0]!.app.database.bind(budgetStore);
  const readUse = (subject = `account ${fronts[0]!.account_id}`) =>
    store().sum(subject, QUARTER_MS, 0, Number.MAX_SAFE_INTEGER);
  /** Waits until so many are under way: ends are written behind the replies. */
  async function settledExcept(count: number): Promise<void> {
    while ((await store().listReservations()).length > count) {
      for (const front of fronts) await front.clock.advance(0);
    }
  }
  const settled = () => settledExcept(0);

  /** A request of this front that the model server answers when `release` is called. */
  async function hang(front: BudgetFront, max_tokens: number) {
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    front.upstream.script = async (request) => {
      if (request.path.endsWith("/tokenize")) return answerWhole(request);
      asked.resolve();
      await released.promise;
      return answerWhole(request);
    };
    const reply = front.outcome(front.ask(max_tokens));
    await asked.promise;
    return { reply, release: () => released.resolve() };
  }

  test("use budgets of tokens and money to their ends in sum, and no further", async () => {
    const limits = { tokens_day: 12_000, cost_month: 21_000 };
    await fronts[0]!.limit(limits);
    await fronts[0]!.limitKey({ tokens_month: 11_000 });
    const draw = createDraw(7);
    const below = (bound: number) => Math.floor(draw() * bound);
    let served = 0;
    for (const { upstream } of fronts) {
      upstream.script = async (asked) => {
        if (asked.path.endsWith("/tokenize")) return answerWhole(asked);
        const tokens = 1 + below(asked.body.max_tokens as number);
        served += PROMPT + tokens;
        return answerWhole(asked, tokens);
      };
    }
    const outcomes = new Set<string>();
    const call = async (front: BudgetFront) => {
      for (let turn = 0; turn < TURNS; turn++) {
        outcomes.add((await front.outcome(front.ask(1 + below(200)))).slice(0, 3));
      }
    };
    const callers = fronts.flatMap((front) => Array.from({ length: CALLERS }, () => call(front)));
    await Promise.all(callers);
    await settled();
    const { tokens, cost, estimated } = await readUse();
    expect({ tokens, estimated }).toEqual({ tokens: served, estimated: 0 });
    expect(tokens).toBeLessThanOrEqual(11_000);
    expect(cost).toBeLessThanOrEqual(limits.cost_month);
    expect([...outcomes].every((one) => ["201", "403", "429"].includes(one))).toBe(true);
    expect(outcomes.size).toBeGreaterThan(1);
    // What is left is usable to the last token, at any of them.
    const left = Math.min(
      11_000 - tokens - PROMPT,
      Math.floor((limits.cost_month - cost - PROMPT) / 2),
    );
    for (const { upstream } of fronts) upstream.script = (asked) => answerWhole(asked);
    if (left > 0) expect(await fronts[2]!.outcome(fronts[2]!.ask(left))).toBe("201");
    expect(await fronts[1]!.outcome(fronts[1]!.ask(1))).not.toBe("201");
  });

  test("admit exactly as many requests at once as the limit says", async () => {
    await fronts[0]!.limit({ requests_minute: 20 });
    const asked = fronts.flatMap((front) =>
      Array.from({ length: 20 }, () => front.outcome(front.ask(1))),
    );
    const outcomes = (await Promise.all(asked)).map((outcome) => outcome.slice(0, 3));
    expect(outcomes.filter((outcome) => outcome === "201")).toHaveLength(20);
    expect(new Set(outcomes)).toEqual(new Set(["201", "429"]));
  });

  test("give room back to each other as soon as a request ends below its maximum", async () => {
    const [first, second] = fronts as [BudgetFront, BudgetFront];
    await first.limit({ tokens_day: 100 });
    const { reply, release } = await hang(first, 80);
    expect(await second.outcome(second.ask(40))).toStartWith("429");
    first.upstream.script = (asked) => answerWhole(asked);
    release();
    await reply;
    await settled();
    expect(await readUse()).toMatchObject({ tokens: 90 });
    expect(await second.outcome(second.ask(1))).toStartWith("429");
    await first.limit({ tokens_day: 140 });
    expect(await second.outcome(second.ask(40))).toBe("201");
  });

  test("show the use and the reservations of all at each", async () => {
    const [first, second, third] = fronts as [BudgetFront, BudgetFront, BudgetFront];
    await first.limit({ tokens_day: 1_000 });
    expect(await first.outcome(first.ask(90))).toBe("201");
    const { reply, release } = await hang(second, 40);
    await settledExcept(1);
    const usage = await third.get("/v1/usage", { key: third.key });
    const { account } = (await usage.json()) as { account: { limits: object[] } };
    expect(account.limits).toMatchObject([{ used: 100, reserved: 50 }]);
    release();
    expect(await reply).toBe("201");
  });

  test("a start charges nothing that a live process has reserved", async () => {
    const [first] = fronts as [BudgetFront];
    await first.limit({ tokens_day: 100 });
    const { reply, release } = await hang(first, 50);
    const late = await join();
    expect(await store().listReservations()).toMatchObject([{ tokens: 60 }]);
    expect(await readUse()).toMatchObject({ tokens: 0 });
    expect(await late.outcome(late.ask(41))).toStartWith("429");
    expect(await late.outcome(late.ask(30))).toBe("201");
    release();
    expect(await reply).toBe("201");
    await settled();
    expect(await readUse()).toMatchObject({ tokens: 100, estimated: 0 });
  });

  test("what a dead process has reserved is charged in full, once, and by one of them", async () => {
    const [dead, ...others] = fronts as [BudgetFront, BudgetFront, BudgetFront];
    await dead.limit({ tokens_day: 100 });
    const { reply, release } = await hang(dead, 50);
    // The clock of the first stands still: it has no heartbeat.
    for (let beat = 0; beat < BEATS; beat++) {
      for (const { clock } of others) await clock.advance(BEAT_MS);
    }
    while ((await readUse()).tokens === 0) {
      for (const { clock } of others) await clock.advance(BEAT_MS);
    }
    expect(await readUse()).toMatchObject({ tokens: 60, estimated: 1 });
    expect(await others[0].outcome(others[0].ask(31))).toStartWith("429");
    // It has only been frozen: what it settles late counts nothing twice.
    release();
    expect(await reply).toBe("201");
    await settled();
    expect(await readUse()).toMatchObject({ requests: 1, tokens: 60 });
  });

  test("a stop settles its requests before the others could charge them", async () => {
    const [first, second] = fronts as [BudgetFront, BudgetFront];
    await first.limit({ tokens_day: 1_000 });
    const { reply } = await hang(first, 500);
    await first.stop();
    expect(await reply).toStartWith("502");
    fronts.shift();
    await second.clock.advance(BEAT_MS);
    expect(await readUse()).toMatchObject({ requests: 1, estimated: 1, tokens: PROMPT });
  });

  test("tell once that a limit is nearly used, when their use is so in sum", async () => {
    const [first, second] = fronts as [BudgetFront, BudgetFront];
    await first.limit({ tokens_day: 100 });
    const events = () => first.app.database.bind(outboxStore).list(first.account_id);
    const { reply, release } = await hang(first, 40);
    expect(await second.outcome(second.ask(20))).toBe("201");
    await settledExcept(1);
    expect(await events()).toEqual([]);
    release();
    expect(await reply).toBe("201");
    while ((await events()).length === 0) await first.clock.advance(0);
    expect(await second.outcome(second.ask(5))).toBe("201");
    await settled();
    expect(await events()).toMatchObject([{ type: "limit.reached" }]);
  });

  test("know what a lone process has used before them", async () => {
    const [first] = fronts as [BudgetFront];
    await first.limit({ tokens_day: 100 });
    expect(await first.outcome(first.ask(10))).toBe("201");
    await settled();
    const { key } = first;
    for (const front of fronts) await front.stop();
    const alone = await openBudgetFront({ place: { ...place, isShared: false }, key, seed: 91 });
    expect(await alone.outcome(alone.ask(40))).toBe("201");
    while ((await alone.reservations()) > 0) await alone.clock.advance(0);
    await alone.stop();
    const after = await openBudgetFront({ ...LONE, place, listens: true, key, seed: 92 });
    fronts = [after];
    expect(await after.outcome(after.ask(21))).toStartWith("429");
    expect(await after.outcome(after.ask(20))).toBe("201");
  });
}
