// Tests that use survives restarts, crashes, stops, the end of a month and a change of the zone.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { budgetStore } from "../../../src/gateway/budgets/store.ts";
import { answerFrames, writeFrame } from "../../support/upstream.ts";
import {
  answerWhole,
  type BudgetFront,
  type BudgetFrontOptions,
  openBudgetFront,
  PROMPT,
} from "./fixture.ts";

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 30, 12);

let directory: string;
let key: string | undefined;
let starts = 0;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-budgets-"));
  key = undefined;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function open(options: BudgetFrontOptions = {}): Promise<BudgetFront> {
  const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
  const start = { start_ms: NOON, place, seed: ++starts, listens: true, key };
  const front = await openBudgetFront({ ...start, ...options });
  key = front.key;
  return front;
}

/** Uses `tokens` of the account. */
const use = async (front: BudgetFront, tokens: number) =>
  expect(await front.outcome(front.ask(tokens - PROMPT))).toBe("201");

const refused = async (front: BudgetFront, tokens: number) =>
  (await front.outcome(front.ask(tokens - PROMPT))).startsWith("429");

test("use is exact across a restart", async () => {
  let front = await open();
  await front.limit({ tokens_minute: 70, tokens_day: 100, requests_month: 3 });
  await use(front, 50);
  await front.stop();
  front = await open();
  expect(await front.outcome(front.ask(21 - PROMPT))).toBe("429 rate_limit_exceeded after 60");
  await use(front, 20);
  await front.stop();
  front = await open({ start_ms: NOON + 60_000 });
  expect(await front.outcome(front.ask(31 - PROMPT))).toBe("429 rate_limit_exceeded after 43140");
  await use(front, 30);
  expect(await refused(front, PROMPT + 1)).toBe(true);
  await front.stop();
});

test("what a killed process had reserved is charged in full, once", async () => {
  let front = await open();
  await front.limit({ tokens_day: 100 });
  await use(front, 20);
  const subjects = [`account ${front.account_id}`];
  const reservation = { id: "r-1", at: front.clock.now(), subjects, tokens: 60, cost: 60 };
  await front.app.database.bind(budgetStore).reserve(reservation);
  await front.stop();
  for (let start = 0; start < 2; start++) {
    front = await open();
    expect(await front.used()).toMatchObject({ requests: 2, estimated: 1, tokens: 80 });
    expect(await refused(front, 21)).toBe(true);
    await front.stop();
  }
});

test("a stop charges a request under way for its prompt and what was delivered", async () => {
  let front = await open();
  await front.limit({ tokens_day: 1_000 });
  const asked = Promise.withResolvers<void>();
  front.upstream.script = async (request) => {
    if (request.path.endsWith("/tokenize")) return answerWhole(request);
    asked.resolve();
    return new Promise<Response>(() => {});
  };
  const reply = front.ask(500);
  await asked.promise;
  await front.stop();
  expect((await reply).status).toBe(502);
  front = await open();
  expect(await front.used()).toMatchObject({ requests: 1, estimated: 1, tokens: PROMPT });
  await front.stop();
});

describe("a month", () => {
  test("ends at midnight, and a request counts where it began", async () => {
    const front = await open({ start_ms: NOON + 12 * HOUR_MS - 60_000 });
    await front.limit({ tokens_month: 100 });
    await use(front, 100);
    expect(await front.outcome(front.ask(1))).toBe("429 rate_limit_exceeded after 60");
    await front.clock.advance(59_999);
    expect(await front.outcome(front.ask(1))).toBe("429 rate_limit_exceeded after 1");
    await front.clock.advance(1);
    await use(front, 100);
    expect(await refused(front, PROMPT + 1)).toBe(true);
    await front.stop();
  });

  test("does not get what ends behind it", async () => {
    const front = await open({ start_ms: NOON + 12 * HOUR_MS - 1 });
    await front.limit({ tokens_month: 100 });
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    front.upstream.script = async (request) => {
      if (request.path.endsWith("/tokenize")) return answerWhole(request);
      asked.resolve();
      await release.promise;
      return answerWhole(request);
    };
    const late = front.outcome(front.ask(90));
    await asked.promise;
    await front.clock.advance(1);
    release.resolve();
    expect(await late).toBe("201");
    await use(front, 100);
    expect(await front.used()).toMatchObject({ tokens: 200 });
    await front.stop();
  });
});

test("a change of the zone counts use by the new days and months", async () => {
  // 30 November, 20:00 in UTC and 23:00 in Riyadh.
  let front = await open({ start_ms: NOON + 8 * HOUR_MS });
  await front.limit({ tokens_day: 100, tokens_month: 150 });
  await use(front, 30);
  await front.clock.advance(2 * HOUR_MS);
  // 22:00 in UTC, and 1 December, 01:00 in Riyadh.
  await use(front, 60);
  expect(await refused(front, PROMPT + 1)).toBe(true);
  await front.stop();
  const riyadh = { start_ms: NOON + 10 * HOUR_MS, head: '[service]\nzone = "Asia/Riyadh"\n' };
  front = await open(riyadh);
  expect(await front.outcome(front.ask(41 - PROMPT))).toBe("429 rate_limit_exceeded after 82800");
  await use(front, 40);
  await front.stop();
  // Back in UTC, all of it is one day.
  front = await open({ start_ms: NOON + 11 * HOUR_MS });
  expect(await refused(front, PROMPT + 1)).toBe(true);
  await front.limit({ tokens_day: 150 });
  await use(front, 20);
  expect(await refused(front, PROMPT + 1)).toBe(true);
  await front.stop();
});

test("the log marks the usage of a reply that broke off as an estimate", async () => {
  const front = await open();
  await front.limit({ tokens_day: 1_000 });
  front.upstream.script = (asked) =>
    asked.path.endsWith("/tokenize")
      ? answerWhole(asked)
      : answerFrames([writeFrame({ content: "abcd" })]);
  await (await front.ask(100, { stream: true })).text();
  await front.clock.advance(100);
  const { rows } = await front.app.admin.usage({ by: "account" });
  expect(rows).toMatchObject([{ prompt_tokens: PROMPT, completion_tokens: 1, estimated: 1 }]);
  await front.stop();
});
