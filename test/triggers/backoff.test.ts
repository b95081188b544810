// How long triggers rest that could not be fired, and how many of them are remembered.
import { expect, test } from "bun:test";
import { createBackoffs } from "../../src/triggers/backoff.ts";
import { createManualClock } from "../support/clock.ts";

const one = { id: "t-1", account_id: "a-1" };

test("a rest is twice as long each time, up to half a minute, until the trigger was fired", async () => {
  const clock = createManualClock();
  const rests = createBackoffs(clock);
  expect(rests.nextEndIn()).toBe(Infinity);
  const lasted: number[] = [];
  for (let n = 0; n < 9; n++) {
    rests.begin(one);
    const restMs = rests.nextEndIn();
    await clock.advance(restMs - 1);
    expect(rests.has(one)).toBe(true);
    await clock.advance(1);
    expect([rests.has(one), rests.nextEndIn()]).toEqual([false, Infinity]);
    lasted.push(restMs / 1_000);
  }
  expect(lasted).toEqual([5, 10, 20, 30, 30, 30, 30, 30, 30]);
  rests.forget(one);
  rests.begin(one);
  expect(rests.nextEndIn()).toBe(5_000);
});

test("those of an account are counted, so that a look reads beyond them", () => {
  const rests = createBackoffs(createManualClock());
  rests.begin(one);
  rests.begin({ ...one, id: "t-2" });
  rests.begin({ id: "t-3", account_id: "a-2" });
  expect(["a-1", "a-2", "a-3"].map(rests.count)).toEqual([2, 1, 0]);
});

test("of very many the one that failed longest ago is forgotten", () => {
  const rests = createBackoffs(createManualClock());
  for (let n = 0; n < 10_000; n++) rests.begin({ id: `t-${n}`, account_id: "a-1" });
  rests.begin({ id: "t-0", account_id: "a-1" });
  rests.begin({ id: "another", account_id: "a-1" });
  expect(rests.count("a-1")).toBe(10_000);
  const has = ["t-0", "t-1", "t-2", "another"].map((id) => rests.has({ ...one, id }));
  expect(has).toEqual([true, false, true, true]);
});
