// Tests which counters of accounts and keys are kept in memory.
import { expect, test } from "bun:test";
import { UseCounters } from "../../../src/gateway/budgets/counters.ts";
import { createCalendar } from "../../../src/gateway/budgets/period.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const HOUR_MS = 3_600_000;

function open() {
  let reads = 0;
  const sum = async () => {
    reads += 1;
    return { requests: 0, estimated: 0, tokens: 0, cost: 0 };
  };
  const store = { sum, recover: async () => 0 };
  const counters = new UseCounters({ store, findPeriod: createCalendar("UTC") });
  const countReads = async (subject: string, now: number) => {
    const before = reads;
    await counters.find(subject, now);
    return reads - before;
  };
  return { counters, countReads };
}

test("a subject without a request for a day is dropped, and read again at the next", async () => {
  const { countReads } = open();
  expect(await countReads("key a", NOON)).toBe(3);
  expect(await countReads("key b", NOON + HOUR_MS)).toBe(3);
  expect(await countReads("key c", NOON + 24 * HOUR_MS)).toBe(3);
  // Each in a new minute and day; the month of the dropped one is read, too.
  expect(await countReads("key b", NOON + 24 * HOUR_MS)).toBe(2);
  expect(await countReads("key a", NOON + 24 * HOUR_MS)).toBe(3);
});

test("an idle subject is dropped, also where one that was known before it is used", async () => {
  const { countReads } = open();
  await countReads("key a", NOON);
  await countReads("key b", NOON);
  await countReads("key a", NOON + 23 * HOUR_MS);
  await countReads("key c", NOON + 24 * HOUR_MS);
  expect(await countReads("key b", NOON + 24 * HOUR_MS)).toBe(3);
});

test("a subject that is used, or whose clock is set back, is kept", async () => {
  const { counters, countReads } = open();
  const { month } = await counters.find("key a", NOON);
  for (let hour = 0; hour < 48; hour += 12) await counters.find("key a", NOON + hour * HOUR_MS);
  expect((await counters.find("key a", NOON + 48 * HOUR_MS)).month).toBe(month);
  expect(await countReads("key a", NOON + 36 * HOUR_MS)).toBe(0);
  expect((await counters.find("key a", NOON + 36 * HOUR_MS)).month).toBe(month);
});

test("of the minutes of a subject the last two are kept", async () => {
  const { countReads } = open();
  const reads: number[] = [];
  for (const minute of [0, 1, 2, 1, 0]) {
    reads.push(await countReads("key a", NOON + minute * 60_000));
  }
  expect(reads).toEqual([3, 1, 1, 0, 1]);
});
