// What is believed of the time that a search engine tells us to wait.
import { expect, test } from "bun:test";
import { createWait } from "../../../src/gateway/search/wait.ts";
import { createManualClock } from "../../support/clock.ts";

test("the longest of several waits holds, on the monotonic clock, and then it is over", async () => {
  const clock = createManualClock();
  const wait = createWait(clock);
  expect([wait.find(), wait.left_ms()]).toEqual([null, 0]);
  wait.note(10_000);
  wait.note(2_000);
  await clock.advance(9_999);
  clock.shiftWall(86_400_000);
  expect(wait.find()).toMatchObject({ code: "upstream_rate_limited", retryAfterMs: 1 });
  await clock.advance(1);
  expect([wait.find(), wait.left_ms()]).toEqual([null, 0]);
});
