// Tests the pause that a search engine requests.
import { expect, test } from "bun:test";
import { Pause } from "../../../src/gateway/search/engine.ts";
import { createManualClock } from "../../support/clock.ts";

test("the longest of several waits applies, on the monotonic clock", async () => {
  const clock = createManualClock();
  const pause = new Pause(clock);
  expect([pause.find(), pause.leftMs()]).toEqual([undefined, 0]);
  pause.begin(10_000);
  pause.begin(2_000);
  await clock.advance(9_999);
  clock.shiftWall(86_400_000);
  expect(pause.find()).toMatchObject({ code: "upstream_rate_limited", retryAfterMs: 1 });
  await clock.advance(1);
  expect([pause.find(), pause.leftMs()]).toEqual([undefined, 0]);
});
