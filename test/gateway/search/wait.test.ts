// What is believed of the time that a search engine tells us to wait.
import { describe, expect, test } from "bun:test";
import { createWait, readWindows } from "../../../src/gateway/search/wait.ts";
import { createManualClock } from "../../support/clock.ts";

const MONTH_MS = 31 * 86_400_000;

describe("the windows of Brave", () => {
  type Lists = [limit: string | null, remaining: string | null, reset: string | null];
  const CASES: [...lists: Lists, wait_ms: number | null][] = [
    ["1, 15000", "0, 12", "1, 1419704", 1_000],
    ["1, 15000", "0, 0", "1, 1419704", 1_419_704_000],
    ["1, 15000", "1, 0", "1, 1419704", 1_419_704_000],
    ["1, 15000", "1, 12", "1, 1419704", null],
    // A plan without a limit a month has nothing left of it at all times.
    ["50, 0", "0, 0", "1, 1419704", 1_000],
    ["50, 0", "49, 0", "1, 1419704", null],
    ["1,15000", "0,0", "1,90", 90_000],
    ["1, 5", "0, 0", "90, 8", 90_000],
    ["1", "0", "0", 1_000],
    ["1", "0", "99999999999", MONTH_MS],
    [null, "0, 5", "2, 9", 2_000],
    ["1, 2", null, "1, 2", null],
    ["1, 2", "0, 0", null, null],
    ["x", "y", "z", null],
    ["1, 5", "0, 0", ", 8", 8_000],
    ["1, 5", "0, 0", "-4, 8", 8_000],
  ];
  for (const [limit, remaining, reset, wait_ms] of CASES) {
    test(`${limit} · ${remaining} · ${reset} is ${wait_ms} ms`, () => {
      expect(readWindows(limit, remaining, reset)).toBe(wait_ms);
    });
  }
});

test("the longest of several waits holds, on the monotonic clock, and then it is over", async () => {
  const clock = createManualClock();
  const wait = createWait(clock);
  expect([wait.find(), wait.left_ms()]).toEqual([null, 0]);
  wait.note(10_000);
  wait.note(2_000);
  await clock.advance(9_999);
  clock.shiftWall(86_400_000);
  expect(wait.find()).toMatchObject({ code: "upstream_rate_limited", retry_after_ms: 1 });
  await clock.advance(1);
  expect([wait.find(), wait.left_ms()]).toEqual([null, 0]);
});
