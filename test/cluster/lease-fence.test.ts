// Tests the fence of a process: when it is open, and how work waits at it.
import { expect, spyOn, test } from "bun:test";
import { LeaseFence } from "../../src/cluster/lease-fence.ts";
import * as times from "../../src/cluster/times.ts";
import { createManualClock } from "../support/clock.ts";

const SECOND_MS = 1_000;

function open(isGuarded = true) {
  const clock = createManualClock();
  let asked = 0;
  const fence = new LeaseFence({ clock, isGuarded, onClosed: () => void asked++ });
  return { clock, fence, asked: () => asked };
}

test("a process beats, then is fenced, then is taken for dead, then is ended by its watchdog", () => {
  const { BEAT_EVERY_MS, FENCED_AFTER_MS, DEAD_AFTER_MS, HUNG_AFTER_MS } = times;
  const order = [BEAT_EVERY_MS, FENCED_AFTER_MS, DEAD_AFTER_MS, HUNG_AFTER_MS];
  expect(order).toEqual([2_000, 6_000, 10_000, 15_000]);
});

test("a fence is closed before the first heartbeat, and six seconds after the last one", async () => {
  const { clock, fence } = open();
  expect(fence.isOpen).toBe(false);
  fence.renew(fence.readTimes());
  await clock.advance(6 * SECOND_MS - 1);
  expect(fence.isOpen).toBe(true);
  await clock.advance(1);
  expect(fence.isOpen).toBe(false);
});

test("a fence closes too when only the wall clock has gone on, as on a suspended machine", () => {
  const { clock, fence } = open();
  fence.renew(fence.readTimes());
  clock.shiftWall(6 * SECOND_MS);
  expect(fence.isOpen).toBe(false);
});

test("a wall clock that is set back keeps no fence open", async () => {
  const { clock, fence } = open();
  fence.renew(fence.readTimes());
  clock.shiftWall(-60 * SECOND_MS);
  await clock.advance(6 * SECOND_MS);
  expect(fence.isOpen).toBe(false);
});

test("a heartbeat counts from when it was sent: its answer may come late", async () => {
  const { clock, fence } = open();
  const sent = fence.readTimes();
  await clock.advance(5 * SECOND_MS);
  fence.renew(sent);
  expect(fence.isOpen).toBe(true);
  await clock.advance(SECOND_MS);
  expect(fence.isOpen).toBe(false);
});

test("work at a closed fence asks for a heartbeat, and goes on with a fresh one only", async () => {
  const { clock, fence, asked } = open();
  const stale = fence.readTimes();
  await clock.advance(6 * SECOND_MS);
  let hasPassed = false;
  const passing = fence.pass().then((passed) => {
    hasPassed = true;
    return passed;
  });
  expect(asked()).toBe(1);
  fence.renew(stale);
  await clock.advance(0);
  expect([hasPassed, asked()]).toEqual([false, 2]);
  fence.renew(fence.readTimes());
  expect(await passing).toBe(true);
});

test("work that is given up leaves the fence, and does not pass an open one either", async () => {
  const { fence } = open();
  const leaving = new AbortController();
  const passing = fence.pass(leaving.signal);
  leaving.abort();
  expect(await passing).toBe(false);
  fence.renew(fence.readTimes());
  expect(await fence.pass(leaving.signal)).toBe(false);
});

test("without other processes the fence is always open", async () => {
  const { clock, fence, asked } = open(false);
  await clock.advance(60 * SECOND_MS);
  expect([fence.isOpen, await fence.pass(), asked()]).toEqual([true, true, 0]);
});

test("work that has passed a fence leaves nothing at its signal", async () => {
  const { fence } = open();
  const { signal } = new AbortController();
  const removed = spyOn(signal, "removeEventListener");
  const passing = fence.pass(signal);
  fence.renew(fence.readTimes());
  expect([await passing, removed.mock.calls.length]).toEqual([true, 1]);
});
