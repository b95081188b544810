// Tests that a bug in one timer's callback ends no other timer.
import { expect, test } from "bun:test";
import { containTimers } from "../../src/platform/clock.ts";
import { createManualClock } from "../support/clock.ts";

test("an error of a timer's callback is reported, and the other timers continue", async () => {
  const bugs: unknown[] = [];
  const manual = createManualClock();
  const clock = containTimers(manual, (bug) => bugs.push(bug));
  const bug = new Error("bug 7");
  let fired = 0;
  clock.after(1, () => {
    throw bug;
  });
  clock.after(2, () => fired++);
  clock.after(3, () => fired++)();
  await manual.advance(3);
  expect([bugs, fired]).toEqual([[bug], 1]);
  expect([clock.now(), clock.monotonic()]).toEqual([manual.now(), manual.monotonic()]);
});
