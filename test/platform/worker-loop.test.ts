// Tests the loop on a manual clock: the times of its passes, and that no two run at once.
import { expect, test } from "bun:test";
import { type NextPass, WorkerLoop } from "../../src/platform/worker-loop.ts";
import { createManualClock } from "../support/clock.ts";

/** A loop whose passes the test ends one by one; `passes` has their start times. */
function createTrial(retryMs: number | ((failures: number) => number) = 1_000) {
  const clock = createManualClock();
  const passes: number[] = [];
  const errors: unknown[] = [];
  let current = Promise.withResolvers<NextPass>();
  const loop = new WorkerLoop({
    clock,
    retryMs,
    onError: (error) => errors.push(error),
    work() {
      passes.push(clock.monotonic());
      current = Promise.withResolvers<NextPass>();
      return current.promise;
    },
  });
  /** Ends the running pass, and lets the next one start. */
  const end = (next: NextPass) => {
    current.resolve(next);
    return clock.advance(0);
  };
  const fail = (error: unknown) => {
    current.reject(error);
    return clock.advance(0);
  };
  return { clock, loop, passes, errors, end, fail };
}

test("a signal starts a pass at once, and signals during it cause one more", async () => {
  const { loop, passes, end } = createTrial();
  expect(loop.isRunning).toBe(false);
  loop.wake();
  expect(passes).toEqual([0]);
  expect(loop.isRunning).toBe(true);
  loop.wake();
  loop.wake();
  expect(passes).toEqual([0]);
  await end("on_wake");
  expect(passes).toEqual([0, 0]);
  await end("on_wake");
  expect(passes).toEqual([0, 0]);
  expect(loop.isRunning).toBe(false);
});

test("a pass that signals its own loop at its start is followed by another", async () => {
  const clock = createManualClock();
  let passes = 0;
  const loop = new WorkerLoop({
    ...{ clock, retryMs: 1_000, onError: () => {} },
    async work() {
      if (++passes < 3) loop.wake();
      return "on_wake";
    },
  });
  loop.wake();
  expect(passes).toBe(1);
  await clock.advance(0);
  expect(passes).toBe(3);
});

test("a pass sets the time of the next one", async () => {
  const { clock, loop, passes, end } = createTrial();
  loop.wake();
  await end("now");
  expect(passes).toEqual([0, 0]);
  await end({ inMs: 50 });
  await clock.advance(49);
  expect(passes).toEqual([0, 0]);
  await clock.advance(1);
  expect(passes).toEqual([0, 0, 50]);
  await end({ inMs: 50 });
  loop.wake();
  expect(passes).toEqual([0, 0, 50, 50]);
  // The timer after the previous pass is cleared.
  await end("on_wake");
  expect(clock.pending()).toBe(0);
});

test("the shortest of several delays applies, also if it is set during a pass", async () => {
  const { clock, loop, passes, end } = createTrial();
  loop.wakeWithin(100);
  loop.wakeWithin(20);
  loop.wakeWithin(60);
  await clock.advance(20);
  expect(passes).toEqual([20]);
  loop.wakeWithin(30);
  await end({ inMs: 70 });
  await clock.advance(30);
  expect(passes).toEqual([20, 50]);
  await end("on_wake");
  expect(clock.pending()).toBe(0);
});

test("a pass that fails is reported, and no signal shortens the backoff", async () => {
  const { clock, loop, passes, errors, end, fail } = createTrial();
  const error = new Error("away");
  loop.wake();
  loop.wake();
  await fail(error);
  expect(errors).toEqual([error]);
  loop.wake();
  loop.wakeWithin(1);
  await clock.advance(999);
  expect(passes).toEqual([0]);
  await clock.advance(1);
  expect(passes).toEqual([0, 1_000]);
  await end("on_wake");
  expect(passes).toEqual([0, 1_000]);
  loop.wake();
  expect(passes).toEqual([0, 1_000, 1_000]);
});

test("an error before a pass's first await is a failure like others", async () => {
  const clock = createManualClock();
  const errors: unknown[] = [];
  const loop = new WorkerLoop({
    ...{ clock, retryMs: 5, onError: (error) => errors.push(error) },
    work() {
      throw "broken";
    },
  });
  loop.wake();
  await clock.advance(5);
  expect(errors).toEqual(["broken", "broken"]);
});

test("the backoff may grow with each failure in a row, and is reset by a success", async () => {
  const { clock, loop, passes, end, fail } = createTrial((failures) => 10 * failures);
  loop.wake();
  await fail("one");
  await clock.advance(10);
  await fail("two");
  await clock.advance(20);
  await end("now");
  await fail("three");
  await clock.advance(10);
  expect(passes).toEqual([0, 10, 30, 30, 40]);
});

test("a stop aborts the signal, waits for the running pass and starts no other", async () => {
  const clock = createManualClock();
  const { promise, resolve } = Promise.withResolvers<NextPass>();
  let passes = 0;
  let isStopping = false;
  const loop = new WorkerLoop({
    ...{ clock, retryMs: 5, onError: () => {} },
    work(stopping) {
      passes += 1;
      stopping.addEventListener("abort", () => {
        isStopping = true;
      });
      return promise;
    },
  });
  loop.wake();
  let isOver = false;
  const stopped = loop.stop().then(() => {
    isOver = true;
  });
  await clock.advance(0);
  expect([isStopping, isOver]).toEqual([true, false]);
  resolve("now");
  await stopped;
  loop.wake();
  loop.wakeWithin(1);
  await clock.advance(10);
  expect([passes, loop.isRunning, clock.pending()]).toEqual([1, false, 0]);
});

test("a stop during a backoff ends it", async () => {
  const { clock, loop, passes, fail } = createTrial();
  loop.wake();
  await fail("away");
  await loop.stop();
  expect(clock.pending()).toBe(0);
  loop.wake();
  expect(passes).toEqual([0]);
});

test("a pass that fails during a stop is reported and not repeated", async () => {
  const { clock, loop, errors, fail } = createTrial();
  loop.wake();
  const stopped = loop.stop();
  await fail("away");
  await stopped;
  expect([errors, clock.pending()]).toEqual([["away"], 0]);
});

test("a pause waits for the pass under way, and wake-ups wait for its end", async () => {
  const { clock, loop, passes, end } = createTrial();
  loop.wake();
  let isPaused = false;
  void loop.pause().then(() => {
    isPaused = true;
  });
  await clock.advance(5);
  expect(isPaused).toBeFalse();
  await end("now");
  expect([isPaused, passes]).toEqual([true, [0]]);
  loop.wake();
  loop.wakeWithin(10);
  await clock.advance(20);
  expect(passes).toEqual([0]);
  loop.resume();
  expect(passes).toEqual([0, 25]);
  await end("on_wake");
});
