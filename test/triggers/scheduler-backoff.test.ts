// Tests the backoff of triggers that failed to fire, and the maximum of stored backoffs.
import { expect, test } from "bun:test";
import { Backoffs } from "../../src/triggers/scheduler.ts";
import { createManualClock } from "../support/clock.ts";

const one = { id: "t-1", account_id: "a-1" };

test("a backoff doubles up to half a minute, until the trigger is fired", async () => {
  const clock = createManualClock();
  const backoffs = new Backoffs(clock);
  expect(backoffs.nextEndIn()).toBe(Infinity);
  const lasted: number[] = [];
  for (let n = 0; n < 9; n++) {
    backoffs.begin(one);
    const restMs = backoffs.nextEndIn();
    await clock.advance(restMs - 1);
    expect(backoffs.has(one)).toBe(true);
    await clock.advance(1);
    expect([backoffs.has(one), backoffs.nextEndIn()]).toEqual([false, Infinity]);
    lasted.push(restMs / 1_000);
  }
  expect(lasted).toEqual([5, 10, 20, 30, 30, 30, 30, 30, 30]);
  backoffs.clear(one);
  backoffs.begin(one);
  expect(backoffs.nextEndIn()).toBe(5_000);
});

test("backoffs of an account are counted, so that a read skips them", () => {
  const backoffs = new Backoffs(createManualClock());
  backoffs.begin(one);
  backoffs.begin({ ...one, id: "t-2" });
  backoffs.begin({ id: "t-3", account_id: "a-2" });
  expect(["a-1", "a-2", "a-3"].map((id) => backoffs.count(id))).toEqual([2, 1, 0]);
});

test("the oldest failure is evicted beyond the maximum", () => {
  const backoffs = new Backoffs(createManualClock());
  for (let n = 0; n < 10_000; n++) backoffs.begin({ id: `t-${n}`, account_id: "a-1" });
  backoffs.begin({ id: "t-0", account_id: "a-1" });
  backoffs.begin({ id: "another", account_id: "a-1" });
  expect(backoffs.count("a-1")).toBe(10_000);
  const has = ["t-0", "t-1", "t-2", "another"].map((id) => backoffs.has({ ...one, id }));
  expect(has).toEqual([true, false, true, true]);
});

test("a trigger that fails again is among those that failed last", () => {
  const backoffs = new Backoffs(createManualClock());
  const begin = (id: string) => backoffs.begin({ ...one, id });
  for (let n = 0; n < 10_000; n++) begin(`t-${n}`);
  for (const id of ["t-1", "another", "a third"]) begin(id);
  const has = ["t-0", "t-1", "t-2"].map((id) => backoffs.has({ ...one, id }));
  expect(has).toEqual([false, true, false]);
});
