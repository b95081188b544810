// The clock that a server gives to all: a bug in one timer's callback ends nothing else.
import { expect, test } from "bun:test";
import { containTimers } from "../../src/platform/clock.ts";
import { createManualClock } from "../support/clock.ts";

test("what a timer's callback throws is told, and the other timers go on", async () => {
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
