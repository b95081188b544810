// Tests which Retry-After values are used.
import { describe, expect, test } from "bun:test";
import { readRetryAfter } from "../../src/net/retry-after.ts";
import { createManualClock } from "../support/clock.ts";

const MONTH_MS = 31 * 86_400_000;

describe("Retry-After", () => {
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12));
  const CASES: [value: string | null, wait_ms: number | null][] = [
    ["7", 7_000],
    ["0", 1_000],
    ["00090", 90_000],
    ["99999999999999999999", MONTH_MS],
    ["Fri, 20 Nov 2026 12:01:30 GMT", 90_000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 1_000],
    ["20 Nov 2026 12:01:30 GMT", 90_000],
    ["Fri, 20 Nov 2099 11:00:00 GMT", MONTH_MS],
    ["soon", null],
    ["", null],
    ["NaN", null],
    [null, null],
  ];
  for (const [value, wait_ms] of CASES) {
    test(`${value} is ${wait_ms} ms`, () => expect(readRetryAfter(value, clock)).toBe(wait_ms));
  }
});
