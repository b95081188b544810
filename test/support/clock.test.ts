import { expect, test } from "bun:test";
import { wait } from "../../src/platform/clock.ts";
import { createManualClock } from "./clock.ts";

test("timers fire in order, each at its own instant", async () => {
  const clock = createManualClock(1_000);
  const fired: [string, number, number][] = [];
  const note = (name: string) => () => fired.push([name, clock.monotonic(), clock.now()]);
  clock.after(20, note("late"));
  clock.after(10, note("early"));
  clock.after(10, note("also early"));
  clock.after(31, note("never"));
  await clock.advance(30);
  expect(fired).toEqual([
    ["early", 10, 1_010],
    ["also early", 10, 1_010],
    ["late", 20, 1_020],
  ]);
  expect(clock.monotonic()).toBe(30);
  expect(clock.pending()).toBe(1);
});

test("a chain of waits runs within one advance, each from the end of the last", async () => {
  const clock = createManualClock();
  const ends: number[] = [];
  const run = (async () => {
    await Promise.resolve();
    for (const delay_ms of [5, 7, 0, 8]) {
      await wait(clock, delay_ms);
      ends.push(clock.monotonic());
    }
  })();
  await clock.advance(20);
  await run;
  expect(ends).toEqual([5, 12, 12, 20]);
});

test("a cancelled timer does not fire, and cancelling again does nothing", async () => {
  const clock = createManualClock();
  let fired = 0;
  const cancels = [clock.after(1, () => fired++), clock.after(0, () => fired++)];
  for (const cancel of [...cancels, ...cancels]) cancel();
  expect(clock.pending()).toBe(0);
  await clock.advance(5);
  expect(fired).toBe(0);
});

test("a timer without delay fires once, after the code that set it, without an advance", async () => {
  const clock = createManualClock();
  let fired = 0;
  const turn = new Promise<void>((resolve) => clock.after(0, resolve));
  clock.after(0, () => fired++);
  expect(fired).toBe(0);
  await turn;
  await clock.advance(0);
  expect(fired).toBe(1);
  expect(clock.monotonic()).toBe(0);
});

test("shifting the wall clock moves neither durations nor timers", async () => {
  const clock = createManualClock(1_000);
  let fired = 0;
  clock.after(10, () => fired++);
  clock.shiftWall(-5_000);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([-4_000, 0, 0]);
  await clock.advance(10);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([-3_990, 10, 1]);
});

test("an error of a timer reaches the test that advances the clock", async () => {
  const clock = createManualClock();
  clock.after(1, () => {
    throw new Error("broken");
  });
  await expect(clock.advance(1)).rejects.toThrow("broken");
});

test("a timer longer than the runtime's longest fires at once, as it does there", async () => {
  const clock = createManualClock();
  let fired = 0;
  clock.after(2_147_483_647, () => fired++);
  await clock.advance(0);
  expect(fired).toBe(0);
  clock.after(2_147_483_648, () => fired++);
  await clock.advance(0);
  expect(fired).toBe(1);
});
