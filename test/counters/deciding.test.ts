// What a process decides, reports and tells while its place changes, in this process alone.
import { expect, test } from "bun:test";
import { SharedCounters, type SharedCountersOptions } from "../../src/counters/shared-counters.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";

const RULE = { requests_max: 2, windowMs: 60_000, closingMs: 0 };
/** Time after which other processes may count elsewhere. */
const FENCE_MS = 6_000;

interface Place {
  mode: "valkey" | "database" | "gathering" | "filling";
  term: number;
  epoch?: number;
  server?: string;
}

/** Counters whose store is scripted, and whose Valkey does not answer. */
async function open(exported: object = {}) {
  const clock = createManualClock();
  const place: Place = { mode: "database", term: 1 };
  const taken: (() => void)[] = [];
  const steps: string[] = [];
  const reports: unknown[] = [];
  /** What a look and a report do before they are answered. */
  const before: Record<"find" | "report", () => Promise<void>> = {
    find: async () => {},
    report: async () => {},
  };
  const lines: string[] = [];
  let wake = () => {};
  const note = (step: string) => async () => void steps.push(step);
  const store = {
    ...{ open: async () => {}, reach: async () => {}, listSlots: async () => [] },
    ...{ settle: note("settles"), lose: note("loses"), fill: note("fills") },
    async find() {
      const found = { ...place };
      await before.find();
      return found;
    },
    async report(_epoch: number, term: number, report: unknown) {
      steps.push("reports");
      reports.push([term, report]);
      await before.report();
    },
    async hold({ keep, wanted }: { keep: number; wanted: number }) {
      steps.push(`holds ${keep} to ${wanted}`);
      return wanted;
    },
    listTakes: async () => [{ counter: "accounts:a", age: 0, requests: 1 }],
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
    limits: {
      export() {
        steps.push("exports");
        return exported;
      },
    },
    ...{ store, log: createLog(clock, (line) => void lines.push(line), false) },
  } as unknown as SharedCountersOptions);
  await counters.start();
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  };
  /** Moves to another place, and lets this process look at it. */
  const move = async (next: Place) => {
    Object.assign(place, next);
    wake();
    await settle();
  };
  const until = async (step: string) => {
    while (!steps.includes(step)) await clock.advance(0);
  };
  const claim = () => counters.claim("accounts", "a", RULE);
  return { clock, counters, claim, move, settle, until, taken, steps, reports, lines, before };
}

test("a process that has to report decides no more while its last decisions are under way", async () => {
  const { claim, move, counters, taken, steps, until } = await open();
  const first = claim();
  // Whoever asked notes the answer before this process says what it has admitted.
  const noted = first.then(async () => {
    for (let turn = 0; turn < 9; turn++) await null;
    steps.push("noted");
  });
  await move({ mode: "gathering", term: 2 });
  const second = claim();
  expect([taken.length, steps]).toEqual([1, []]);
  taken[0]!();
  // Its answer comes too late to count: another place may have been asked.
  expect([await first, await second]).toEqual([null, null]);
  await noted;
  await until("reports");
  expect(steps).toEqual(["noted", "exports", "reports"]);
  await counters.stop();
});

test("a place decides for six seconds from the begin of the last look", async () => {
  const { clock, claim, counters, settle, taken, before } = await open();
  const looks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun: number[] = [];
  before.find = () => looks[begun.push(clock.monotonic()) - 1]!.promise;
  while (begun.length === 0) await clock.advance(100);
  await clock.advance(3_000);
  looks[0]!.resolve();
  await settle();
  await clock.advance(begun[0]! + FENCE_MS - clock.monotonic());
  void claim();
  expect(taken.length).toBe(1);
  await clock.advance(1);
  void claim();
  expect(taken.length).toBe(1);
  taken[0]!();
  looks[1]!.resolve();
  await counters.stop();
});

test("a report that could not be written is written again before the database counts", async () => {
  const { clock, move, counters, steps, before, until } = await open();
  before.report = async () => {
    before.report = async () => {};
    throw new Error("no disk");
  };
  await move({ mode: "gathering", term: 2 });
  expect(steps).toEqual(["exports", "reports"]);
  await clock.advance(1_000);
  await until("reports");
  expect(steps).not.toContain("settles");
  await clock.advance(1_000);
  await until("settles");
  expect(steps).toEqual(["exports", "reports", "exports", "reports", "settles"]);
  await counters.stop();
});

test("a report has what was admitted by the tenth of a second, and a closing to its end", async () => {
  const { move, counters, reports } = await open({
    accounts: [["a", 1.5, [250, 199, 100, 99, 0]]],
  });
  await move({ mode: "gathering", term: 2 });
  const takes = [-2, 200, 100, 0].map((age) => {
    return ["accounts:a", age, { [-2]: 0, 200: 1 }[age] ?? 2];
  });
  expect(reports).toEqual([[2, { takes, slots: [] }]]);
  await counters.stop();
});

test.each<[string, Place]>([
  ["that counts no more", { mode: "valkey", term: 2, server: "gone" }],
  ["that is to be filled", { mode: "filling", term: 2, epoch: 1 }],
])("a Valkey %s is given up once what was asked is decided", async (_, place) => {
  const { claim, move, counters, taken, steps, lines, until } = await open();
  const first = claim();
  await move(place);
  expect(steps).toEqual([]);
  taken[0]!();
  await first;
  await until("loses");
  expect(steps).not.toContain("fills");
  expect(lines.join()).not.toContain("it counts the limits again");
  await counters.stop();
});

test("a stop reports what was decided until then", async () => {
  const { claim, counters, settle, taken, steps } = await open();
  const first = claim();
  const stopped = counters.stop();
  await settle();
  expect(steps).toEqual([]);
  taken[0]!();
  await first;
  await stopped;
  expect(steps).toEqual(["exports", "reports"]);
});

test("a slot that was given back is told as free", async () => {
  const { counters, settle, steps } = await open();
  expect(await counters.take("embeddings", 2)).toBe(true);
  counters.release("embeddings");
  await settle();
  expect(steps).toEqual(["holds 0 to 1", "holds 0 to 0"]);
  await counters.stop();
});
