// Tests when old rows are deleted, and when a clock is in doubt.
import { afterEach, expect, test } from "bun:test";
import { createSweepAdmin } from "../../src/admin/upkeep.ts";
import type { Process } from "../../src/cluster/index.ts";
import { wait } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { sweepStore } from "../../src/retention/store.ts";
import { type IsStopping, isDoubtful, Sweeper, sweepRows } from "../../src/retention/sweeper.ts";
import { readSettings } from "../../src/settings/index.ts";
import { ALONE } from "../support/alone.ts";
import { createManualClock } from "../support/clock.ts";
import { memory, openTestDatabase, type TestDatabase } from "../support/database.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;
const LOOK_MS = 5 * MINUTE_MS;

const databases: TestDatabase[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.close();
});

/** A database with a sweep and a witness of this age, and a clock that may be wrong. */
async function openTrial(swept_ago_ms: number, clock_is_off_ms = 0) {
  const clock = createManualClock();
  const database = await openTestDatabase(await memory.makePlace());
  databases.push(database);
  const store = database.bind(sweepStore);
  await store.note(clock.now() - swept_ago_ms);
  clock.shiftWall(clock_is_off_ms);
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const runs: number[] = [];
  const trial = { clock, store, lines, runs, rows: 0, ready: Promise.resolve() };
  const start = async (process: Pick<Process, "withLease"> = ALONE) => {
    const sweeps = [
      {
        what: "broken rows",
        run: () => Promise.reject(new Error("a bug")),
      },
      {
        what: "rows",
        async run(now: number) {
          runs.push(now);
          await trial.ready;
          return trial.rows;
        },
      },
    ];
    const sweeper = new Sweeper({ database, process, clock, log, sweeps });
    sweeper.start();
    await clock.advance(0);
    return sweeper;
  };
  return Object.assign(trial, { start });
}

test("no row is deleted in the first hour after a start, and then every hour", async () => {
  const { clock, start, runs } = await openTrial(10 * MINUTE_MS);
  const sweeper = await start();
  await clock.advance(HOUR_MS - 1);
  expect(runs).toEqual([]);
  await clock.advance(1);
  expect(runs).toHaveLength(1);
  await clock.advance(5 * HOUR_MS + LOOK_MS);
  expect(runs).toHaveLength(6);
  await sweeper.stop(0);
  expect(clock.pending()).toBe(0);
});

test("a sweep that is over a day late runs at the start", async () => {
  const { start, runs, store, clock } = await openTrial(DAY_MS + 1);
  await start();
  expect(runs).toEqual([clock.now()]);
  expect(await store.find()).toEqual({ swept_at: clock.now(), witnessed_at: clock.now() });
});

test("a sweep that is exactly a day late waits for its hour", async () => {
  const { start, runs } = await openTrial(DAY_MS);
  await start();
  expect(runs).toEqual([]);
});

test("a step of a minute does not restart the hour", async () => {
  const { clock, start, runs } = await openTrial(10 * MINUTE_MS);
  await start();
  await clock.advance(HOUR_MS - LOOK_MS);
  clock.shiftWall(MINUTE_MS);
  await clock.advance(LOOK_MS);
  expect(runs).toHaveLength(1);
});

test("a sweep in parts ends with a part that is not full, or with the stop", async () => {
  const limits: number[] = [];
  const sweepSome = async (limit: number) => (limits.push(limit) < 3 ? limit : 7);
  expect(await sweepRows(() => false, sweepSome)).toBe(4_007);
  const sweepOne = async (limit: number) => {
    limits.push(limit);
    return limit;
  };
  expect(await sweepRows(() => limits.length === 4, sweepOne)).toBe(2_000);
  expect(limits).toEqual([2_000, 2_000, 2_000, 2_000]);
});

test("a restart each half hour does not postpone sweeps forever", async () => {
  const { clock, start, runs } = await openTrial(0);
  for (let starts = 0; starts < 50; starts++) {
    const sweeper = await start();
    await clock.advance(HOUR_MS / 2);
    await sweeper.stop(0);
  }
  expect(runs).toHaveLength(1);
});

test("between two writes a sweep rests as long as the write took", async () => {
  const clock = createManualClock();
  const database = await openTestDatabase(await memory.makePlace());
  databases.push(database);
  await database.bind(sweepStore).note(clock.now() - 2 * DAY_MS);
  const log = createLog(clock, () => {}, false);
  let writes = 0;
  const write = async () => {
    writes++;
    if (writes > 1) await wait(clock, 300);
    return 2_000;
  };
  const rows = {
    what: "rows",
    run: (_: number, isStopping: IsStopping) => sweepRows(isStopping, write),
  };
  const sweeper = new Sweeper({ database, process: ALONE, clock, log, sweeps: [rows] });
  sweeper.start();
  await clock.advance(0);
  // The first took no time, so that the second begins at once.
  expect(writes).toBe(2);
  await clock.advance(599);
  expect(writes).toBe(2);
  await clock.advance(1);
  expect(writes).toBe(3);
  // The rest itself counts for none of the next.
  await clock.advance(599);
  expect(writes).toBe(3);
  await clock.advance(1);
  expect(writes).toBe(4);
  await clock.advance(300);
  // A stop ends the rest, and nothing more is written.
  await sweeper.stop(1_000);
  expect(writes).toBe(4);
  expect(clock.pending()).toBe(0);
});

test("each sweep reports what it deleted, and a failure holds up no other", async () => {
  const trial = await openTrial(2 * DAY_MS);
  trial.rows = 7;
  await trial.start();
  expect(trial.lines).toMatchObject([
    { level: "warn", message: "sweep: old rows could not be deleted", what: "broken rows" },
    { level: "info", message: "sweep: old rows were deleted", what: "rows", rows: 7 },
  ]);
});

test("a sweep interrupted by a stop does not count as done, and runs at the next start", async () => {
  const trial = await openTrial(2 * DAY_MS);
  const before = await trial.store.find();
  const gate = Promise.withResolvers<void>();
  trial.ready = gate.promise;
  const sweeper = await trial.start();
  const stopped = sweeper.stop(1_000);
  gate.resolve();
  await stopped;
  expect(await trial.store.find()).toEqual(before);
  await trial.start();
  expect(trial.runs).toHaveLength(2);
  expect(await trial.store.find()).not.toEqual(before);
});

test("a clock a year ahead at a start deletes nothing for a day, and is logged once", async () => {
  const { clock, start, runs, lines, store } = await openTrial(HOUR_MS, YEAR_MS);
  const before = await store.find();
  const sweeper = await start();
  await clock.advance(DAY_MS - 1);
  expect(runs).toEqual([]);
  expect(await store.find()).toEqual(before);
  expect(lines).toHaveLength(1);
  expect(lines[0]!.message).toStartWith("sweep: nothing is deleted, for the clock is over 7 days");
  expect(lines[0]!.written_at).toBe(new Date(before.witnessed_at!).toISOString());
  // A start with the same wrong clock restarts its day: it cannot confirm its own time.
  await sweeper.stop(0);
  await start();
  await clock.advance(DAY_MS - 1);
  expect(runs).toEqual([]);
  await clock.advance(1);
  expect(runs).toHaveLength(1);
});

test.each([-YEAR_MS, -HOUR_MS, HOUR_MS])(
  "a clock %p ms off deletes nothing in its first hour",
  async (off_ms) => {
    const { clock, start, runs, lines } = await openTrial(HOUR_MS, off_ms);
    await start();
    await clock.advance(HOUR_MS - 1);
    expect([runs, lines]).toEqual([[], []]);
    await clock.advance(1);
    expect(runs).toHaveLength(1);
  },
);

test("a clock that is set at run time restarts the hour, and the day if it is far ahead", async () => {
  const { clock, start, runs } = await openTrial(10 * MINUTE_MS);
  await start();
  await clock.advance(HOUR_MS - LOOK_MS);
  clock.shiftWall(2 * HOUR_MS);
  await clock.advance(HOUR_MS);
  expect(runs).toEqual([]);
  await clock.advance(LOOK_MS);
  expect(runs).toHaveLength(1);
  clock.shiftWall(YEAR_MS);
  await clock.advance(DAY_MS);
  expect(runs).toHaveLength(1);
  // Once corrected, it is no longer in doubt, and the last sweep is over a day old.
  clock.shiftWall(-YEAR_MS);
  await clock.advance(LOOK_MS);
  expect(runs).toHaveLength(2);
});

test("`wadi sweep --now` ends a running server's doubt about its clock", async () => {
  const { clock, start, runs, store } = await openTrial(HOUR_MS, YEAR_MS);
  await start();
  await clock.advance(2 * HOUR_MS);
  expect(runs).toEqual([]);
  await store.note(clock.now());
  await clock.advance(HOUR_MS + LOOK_MS);
  expect(runs).toHaveLength(1);
});

test("a sweep by hand that fails does not count as one", async () => {
  const { clock, store } = await openTrial(2 * DAY_MS);
  const database = databases.at(-1)!;
  const before = await store.find();
  const fail = () => Promise.reject(new Error("the disk is full"));
  const bind = (one: Parameters<TestDatabase["bind"]>[0]) =>
    one.name === sweepStore.name ? store : new Proxy({}, { get: () => fail });
  const settings = readSettings("", "wadi.toml", {}, {});
  const deps = { database: { ...database, bind }, clock, settings } as never;
  await expect(createSweepAdmin(deps).sweep()).rejects.toThrow("the disk is full");
  expect(await store.find()).toEqual(before);
});

test("a clock is in doubt once it is more than seven days ahead of the last trusted sweep", () => {
  const row = { swept_at: 0, witnessed_at: 0 };
  expect([7 * DAY_MS, 7 * DAY_MS + 1].map((now) => isDoubtful(row, now))).toEqual([false, true]);
});

test("of several processes one sweeps at a time, and none again within the hour", async () => {
  const trial = await openTrial(DAY_MS + 1);
  const { clock, start, runs } = trial;
  let holder = 0;
  /** A process of this number that shares the lease. */
  const share = (number: number): Pick<Process, "withLease"> => ({
    async withLease(_, work) {
      if (holder !== 0) return false;
      holder = number;
      await work(async () => true);
      holder = 0;
      return true;
    },
  });
  const done = Promise.withResolvers<void>();
  trial.ready = done.promise;
  const first = await start(share(1));
  const second = await start(share(2));
  expect([runs.length, holder]).toEqual([1, 1]);
  done.resolve();
  await clock.advance(HOUR_MS - 1);
  expect(runs).toHaveLength(1);
  await first.stop(0);
  await second.stop(0);
});

test("a process that gets the lease after another one has swept deletes nothing", async () => {
  const { clock, start, runs, store } = await openTrial(DAY_MS + 1);
  const sweeper = await start({
    async withLease(_, work) {
      await store.note(clock.now());
      await work(async () => true);
      return true;
    },
  });
  expect(runs).toEqual([]);
  await sweeper.stop(0);
});
