// Who is waited for, how long, and who is told to have been too slow.
import { expect, test } from "bun:test";
import type { TimeoutReason } from "../../../src/models/providers/openai/errors.ts";
import { RequestTimeouts } from "../../../src/models/providers/timeouts.ts";
import { createManualClock } from "../../support/clock.ts";

function start(firstMs = 100) {
  const clock = createManualClock();
  const caller = new AbortController();
  const cuts: TimeoutReason[] = [];
  const watch = new RequestTimeouts(clock, caller.signal, firstMs, (cut) => cuts.push(cut));
  return { clock, caller, watch, cuts };
}

test("an answer that does not begin is late", async () => {
  const { clock, cuts } = start();
  await clock.advance(99);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["late"]);
  expect(clock.pending()).toBe(0);
});

test("an answer that began has its time from piece to piece, and then it is stalled", async () => {
  const { clock, watch, cuts } = start();
  for (let n = 0; n < 10; n++) {
    await clock.advance(49);
    watch.allow(50);
  }
  await clock.advance(49);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["stalled"]);
});

test("a longer time for the pieces than for the first one is kept too", async () => {
  const { clock, watch, cuts } = start(10);
  watch.allow(1_000);
  await clock.advance(999);
  expect(cuts).toEqual([]);
  await clock.advance(1);
  expect(cuts).toEqual(["stalled"]);
});

test("a thousand pieces need one timer", async () => {
  const { clock, watch } = start();
  for (let n = 0; n < 1_000; n++) watch.allow(100);
  expect(clock.pending()).toBe(1);
});

test("the caller leaving cuts at once, and only once", async () => {
  const { clock, caller, cuts } = start();
  caller.abort();
  expect(cuts).toEqual(["left"]);
  await clock.advance(1_000);
  expect([cuts, clock.pending()]).toEqual([["left"], 0]);
});

test("while the ear holds back the upstream's time stands still", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(50);
  await clock.advance(40);
  watch.hold(50);
  await clock.advance(40);
  watch.release();
  await clock.advance(40);
  expect(cuts).toEqual([]);
  await clock.advance(10);
  expect(cuts).toEqual(["stalled"]);
});

test("an ear that holds back for longer than a stall may last belongs to a caller who is deaf", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(50);
  watch.hold(50);
  await clock.advance(50);
  expect(cuts).toEqual(["deaf"]);
});

test("an ear that holds back has its own time, also behind the end where the upstream has little", async () => {
  const { clock, watch, cuts } = start();
  watch.allow(2);
  watch.hold(50);
  await clock.advance(49);
  expect(cuts).toEqual([]);
  watch.release();
  await clock.advance(2);
  expect(cuts).toEqual(["stalled"]);
});

test("after the end no timer waits, nothing is cut, and the caller may leave", async () => {
  const { clock, caller, watch, cuts } = start();
  watch.end();
  caller.abort();
  await clock.advance(1_000);
  expect([cuts, clock.pending()]).toEqual([[], 0]);
});
