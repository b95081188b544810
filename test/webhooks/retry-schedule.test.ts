// Tests the times of retries.
import { expect, test } from "bun:test";
import { drawFraction } from "../../src/platform/ids.ts";
import {
  type FailedAttempt,
  planRetry,
  RETRY_WAIT_MAX_MS,
} from "../../src/webhooks/retry-schedule.ts";
import { createSeededIds } from "../support/ids.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The wait after an attempt, or `exhausted`. */
const plan = (tries: number, fields: Partial<FailedAttempt> = {}) => {
  const planned = planRetry({ tries, retryAfterMs: 0, leastWaitMs: 0, fraction: 0.5, ...fields });
  return planned.kind === "retry" ? planned.waitMs : planned.kind;
};

// decisions: 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, ± 20 % from the third on.
const WAITS: [tries: number, middle_ms: number, spread: number][] = [
  [1, 5_000, 0],
  [2, 5 * MINUTE_MS, 0.2],
  [3, 30 * MINUTE_MS, 0.2],
  [4, 2 * HOUR_MS, 0.2],
  [5, 5 * HOUR_MS, 0.2],
  [6, 10 * HOUR_MS, 0.2],
  [7, 14 * HOUR_MS, 0.2],
  [8, 20 * HOUR_MS, 0.2],
  [9, 24 * HOUR_MS, 0.2],
];

test.each(WAITS)(
  "attempt %d is followed by a wait of %d ms, give or take %d",
  (tries, middle, spread) => {
    expect(plan(tries)).toBe(middle);
    expect(plan(tries, { fraction: 0 })).toBe(Math.round(middle * (1 - spread)));
    const ids = createSeededIds(tries);
    const waits = Array.from({ length: 200 }, () =>
      Number(plan(tries, { fraction: drawFraction(ids) })),
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(middle * (1 - spread));
    expect(Math.max(...waits)).toBeLessThanOrEqual(middle * (1 + spread));
    expect(new Set(waits).size > 100).toBe(spread > 0);
  },
);

test.each([10, 11, 1_000])("attempt %d is the last", (tries) => {
  expect(plan(tries)).toBe("exhausted");
  expect(plan(tries, { retryAfterMs: 1_000, leastWaitMs: 1_000 })).toBe("exhausted");
});

const REQUESTED: [what: string, tries: number, retryAfterMs: number, waitMs: number][] = [
  ["an earlier time does not shorten the wait", 2, 1_000, 5 * MINUTE_MS],
  ["a later time postpones the retry", 1, 30 * MINUTE_MS, 30 * MINUTE_MS],
  ["a day later postpones it by ten hours", 1, 24 * HOUR_MS, 10 * HOUR_MS + 5_000],
  ["a year later postpones the last one by ten hours", 9, 365 * 24 * HOUR_MS, 34 * HOUR_MS],
];
test.each(REQUESTED)("a server that asks for %s", (_, tries, retryAfterMs, waitMs) => {
  expect(plan(tries, { retryAfterMs })).toBe(waitMs);
});

test("a retry that would be useless sooner has a minimum wait", () => {
  expect(plan(1, { leastWaitMs: MINUTE_MS })).toBe(MINUTE_MS);
  expect(plan(1, { leastWaitMs: MINUTE_MS, retryAfterMs: 2_000 })).toBe(MINUTE_MS);
  expect(plan(2, { leastWaitMs: MINUTE_MS })).toBe(5 * MINUTE_MS);
});

test("a wait is whole milliseconds, to the nearest", () => {
  expect(plan(2, { fraction: 0.123_456_789 })).toBe(254_815);
});

test("no wait exceeds the maximum", () => {
  const longest = plan(9, { fraction: 1, retryAfterMs: 365 * 24 * HOUR_MS });
  expect(longest).toBe(RETRY_WAIT_MAX_MS);
});
