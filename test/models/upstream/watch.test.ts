// Who is waited for, how long, and who is told to have been too slow.
import { expect, test } from "bun:test";
import { createWatch } from "../../../src/models/upstream/watch.ts";
import { createManualClock } from "../../support/clock.ts";

function start(first_ms = 100) {
  const clock = createManualClock();
  const caller = new AbortController();
  return { clock, caller, watch: createWatch(clock, caller.signal, first_ms) };
}

test("an answer that does not begin is late", async () => {
  const { clock, watch } = start();
  await clock.advance(99);
  expect(watch.signal.aborted).toBe(false);
  await clock.advance(1);
  expect([watch.signal.aborted, watch.cut]).toEqual([true, "late"]);
  expect(clock.pending()).toBe(0);
});

test("an answer that began has its time from piece to piece, and then it is stalled", async () => {
  const { clock, watch } = start();
  for (let n = 0; n < 10; n++) {
    await clock.advance(49);
    watch.allow(50);
  }
  await clock.advance(49);
  expect(watch.cut).toBeNull();
  await clock.advance(1);
  expect(watch.cut).toBe("stalled");
});

test("a longer time for the pieces than for the first one is kept too", async () => {
  const { clock, watch } = start(10);
  watch.allow(1_000);
  await clock.advance(999);
  expect(watch.cut).toBeNull();
  await clock.advance(1);
  expect(watch.cut).toBe("stalled");
});

test("a thousand pieces need one timer", async () => {
  const { clock, watch } = start();
  for (let n = 0; n < 1_000; n++) watch.allow(100);
  expect(clock.pending()).toBe(1);
});

test("the caller leaving cuts at once, also one who left before", async () => {
  const { caller, watch } = start();
  caller.abort();
  expect([watch.signal.aborted, watch.cut]).toEqual([true, "left"]);
  const late = createWatch(createManualClock(), caller.signal, 100);
  expect([late.signal.aborted, late.cut]).toEqual([true, "left"]);
});

test("while the ear holds back the upstream's time stands still", async () => {
  const { clock, watch } = start();
  watch.allow(50);
  await clock.advance(40);
  const ear = Promise.withResolvers<void>();
  const held = watch.hold(ear.promise);
  await clock.advance(40);
  ear.resolve();
  await held;
  await clock.advance(40);
  expect(watch.cut).toBeNull();
  await clock.advance(10);
  expect(watch.cut).toBe("stalled");
});

test("an ear that holds back for longer than a stall may last belongs to a caller who is deaf", async () => {
  const { clock, watch } = start();
  watch.allow(50);
  const held = watch.hold(new Promise(() => undefined));
  await clock.advance(50);
  await held;
  expect([watch.signal.aborted, watch.cut]).toEqual([true, "deaf"]);
  await watch.hold(new Promise(() => undefined));
});

test("what an ear throws is thrown on", async () => {
  const { watch } = start();
  await expect(watch.hold(Promise.reject(new Error("a bug")))).rejects.toThrow("a bug");
});

test("after the end no timer waits, nothing is cut, and the caller may leave", async () => {
  const { clock, caller, watch } = start();
  watch.end();
  caller.abort();
  await clock.advance(1_000);
  expect([watch.signal.aborted, watch.cut, clock.pending()]).toEqual([true, null, 0]);
});

test("the end aborts what is still open, and nothing that is complete", () => {
  const open = start().watch;
  open.end();
  expect([open.signal.aborted, open.cut]).toEqual([true, null]);
  const complete = start().watch;
  complete.complete();
  complete.end();
  expect(complete.signal.aborted).toBe(false);
});
