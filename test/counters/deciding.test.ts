// Nothing is decided while a process waits for what it decides, in this process alone.
import { expect, test } from "bun:test";
import { SharedCounters, type SharedCountersOptions } from "../../src/counters/shared-counters.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";

const RULE = { requests_max: 2, windowMs: 60_000, closingMs: 0 };

test("a process that has to report decides no more while its last decisions are under way", async () => {
  const clock = createManualClock();
  let place = { mode: "database", term: 1 };
  const taken: (() => void)[] = [];
  const reported = Promise.withResolvers<void>();
  let wake = () => {};
  const store = {
    ...{ open: async () => {}, find: async () => place, reach: async () => {} },
    ...{ settle: async () => {}, report: async () => reported.resolve() },
    take: () => new Promise<number>((resolve) => taken.push(() => resolve(0))),
  };
  const counters = new SharedCounters({
    ...{ url: "redis://127.0.0.1:1", installation: "i", process: { epoch: 1 }, clock },
    database: {
      listen: (_: string, heard: () => void) => {
        wake = heard;
        return () => {};
      },
    },
    ...{ store, limits: { export: () => ({}) }, log: createLog(clock, () => {}, false) },
  } as unknown as SharedCountersOptions);
  await counters.start();
  const first = counters.claim("accounts", "a", RULE);
  place = { mode: "gathering", term: 2 };
  wake();
  for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  const second = counters.claim("accounts", "a", RULE);
  expect(taken.length).toBe(1);
  taken[0]!();
  // Its answer comes too late to count: another place may have been asked.
  expect([await first, await second]).toEqual([null, null]);
  await reported.promise;
  await counters.stop();
});
