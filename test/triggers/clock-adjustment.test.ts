// Tests wall clocks that are set, forward and back, while triggers wait.
import { afterEach, describe, expect, test } from "bun:test";
import { ClockAdjustment } from "../../src/triggers/clock-adjustment.ts";
import { createManualClock } from "../support/clock.ts";
import { openTrial, showFire, type Trial } from "./trial.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;
const BACK = "triggers: the wall clock went back, schedules continue from its new time";

const closing: Trial[] = [];
afterEach(async () => {
  for (const trial of closing.splice(0)) await trial.close();
});
async function open(start: string): Promise<Trial> {
  const trial = await openTrial(Date.parse(start));
  closing.push(trial);
  return trial;
}
const show = async (trial: Trial) => (await trial.listFires("t-1")).map(showFire);
/** With its year, in the order of the instants. */
const showAll = async (trial: Trial) =>
  (await trial.listFires("t-1"))
    .map((fire) => `${new Date(fire.scheduled_at!).getUTCFullYear()}-${showFire(fire)}`)
    .toSorted();
const nextOf = async ({ triggers }: Trial) => {
  const { next_fire_at } = (await triggers.find("t-1"))!;
  return next_fire_at && new Date(next_fire_at).toISOString().slice(0, 16);
};

const FIRED = ["11-20T10:20 started", "11-20T10:40 started", "11-20T11:00 started"];
/** At 11:05, on a schedule that has fired three times. */
const begin = async () => {
  const trial = await open("2026-11-20T10:00:00Z");
  const keeper = await trial.start();
  await trial.add("t-1", "*/20 * * * *", { catch_up_seconds: 3_600 });
  await trial.pass(HOUR_MS + 5 * MINUTE_MS);
  expect(await show(trial)).toEqual(FIRED);
  return { trial, keeper };
};

describe("agents.does.trigger: a clock that is set", () => {
  test("forward by an hour fires the latest instant, and continues from there", async () => {
    const { trial } = await begin();
    await trial.shift(HOUR_MS);
    await trial.pass(15 * MINUTE_MS);
    expect(await show(trial)).toEqual([
      ...[...FIRED, "11-20T12:00 started -2", "11-20T12:20 started"],
    ]);
    expect(trial.lines).toEqual([]);
  });

  test("back by an hour fires no instant again, and misses none after them", async () => {
    const { trial } = await begin();
    await trial.shift(-HOUR_MS);
    expect(await nextOf(trial)).toBe("2026-11-20T10:20");
    await trial.pass(HOUR_MS + 20 * MINUTE_MS);
    expect(await show(trial)).toEqual([...FIRED, "11-20T11:20 started"]);
    expect(trial.lines.map(({ message }) => message)).toEqual([BACK]);
  });

  test("back to a time without fires continues at the first instant after it", async () => {
    const trial = await open("2026-11-20T10:59:45Z");
    await trial.start();
    await trial.add("t-1", "*/20 * * * *");
    // It shows 09:59:50 then, and the next poll is at 10:00:15.
    trial.clock.shiftWall(5_000 - HOUR_MS);
    await trial.pass(HOUR_MS + 10 * MINUTE_MS);
    const at = ["10:00", "10:20", "10:40", "11:00"];
    expect(await show(trial)).toEqual(at.map((time) => `11-20T${time} started`));
  });

  test("back adds no instant from before the trigger's creation", async () => {
    const trial = await open("2026-11-20T10:59:45Z");
    await trial.start();
    trial.clock.shiftWall(5_000 - HOUR_MS);
    await trial.clock.advance(20_000);
    // At 10:00:10, before a poll has noticed the changed clock.
    await trial.add("t-1", "*/20 * * * *");
    await trial.pass(30 * MINUTE_MS);
    expect(await show(trial)).toEqual(["11-20T10:20 started"]);
  });

  test("forward by a year and back again continues with the instants of today", async () => {
    const { trial } = await begin();
    await trial.shift(YEAR_MS);
    await trial.pass(25 * MINUTE_MS);
    expect(await nextOf(trial)).toBe("2027-11-20T11:40");
    await trial.shift(-YEAR_MS);
    expect(await nextOf(trial)).toBe("2026-11-20T11:40");
    await trial.pass(30 * MINUTE_MS);
    expect(await showAll(trial)).toEqual([
      ...FIRED.map((fire) => `2026-${fire}`),
      ...["2026-11-20T11:40 started", "2026-11-20T12:00 started"],
      ...["2027-11-20T11:00 started -10000", "2027-11-20T11:20 started"],
    ]);
  });

  test("back by a year and forward again catches up with the latest instant", async () => {
    const { trial } = await begin();
    await trial.shift(-YEAR_MS);
    expect(await nextOf(trial)).toBe("2025-11-20T11:20");
    await trial.pass(20 * MINUTE_MS);
    await trial.shift(YEAR_MS);
    await trial.pass(20 * MINUTE_MS);
    expect(await showAll(trial)).toEqual([
      "2025-11-20T11:20 started",
      ...FIRED.map((fire) => `2026-${fire}`),
      // Of those skipped at once, three had fired before; not all are counted.
      ...["2026-11-20T11:20 started -9997", "2026-11-20T11:40 started"],
    ]);
  });

  test("back while no process runs is noticed at the next start", async () => {
    const { trial, keeper } = await begin();
    await keeper.stop(0);
    trial.clock.shiftWall(-YEAR_MS);
    await trial.start();
    expect(await nextOf(trial)).toBe("2025-11-20T11:20");
  });

  test("back while triggers are disabled is noticed later", async () => {
    const { trial } = await begin();
    trial.settings.agents.triggers = false;
    await trial.shift(-HOUR_MS);
    await trial.pass(5 * MINUTE_MS);
    expect(await nextOf(trial)).toBe("2026-11-20T11:20");
    trial.settings.agents.triggers = true;
    await trial.pass(30_000);
    expect(await nextOf(trial)).toBe("2026-11-20T10:20");
  });

  test("back, forward and back while triggers are disabled counts from the earliest time", async () => {
    const trial = await open("2026-11-20T12:00:00Z");
    await trial.start();
    await trial.add("t-1", "*/20 * * * *", { catch_up_seconds: 3_600 });
    trial.settings.agents.triggers = false;
    for (const ms of [-HOUR_MS, 50 * MINUTE_MS, -10 * MINUTE_MS]) await trial.shift(ms);
    trial.settings.agents.triggers = true;
    await trial.pass(30_000);
    expect(await show(trial)).toEqual(["11-20T11:40 started -1"]);
  });

  test("back is noticed even if the database fails meanwhile", async () => {
    const trial = await open("2026-11-20T10:00:00Z");
    let failures = 2;
    await trial.start({
      wrap: (store) => ({
        ...store,
        async realign(changes) {
          if (failures-- > 0) throw new Error("the disk is full");
          return store.realign(changes);
        },
      }),
    });
    await trial.add("t-1", "*/20 * * * *");
    await trial.shift(-HOUR_MS);
    await trial.pass(30_000);
    expect(await nextOf(trial)).toBe("2026-11-20T09:20");
    const messages = trial.lines.map(({ message }) => message);
    const failed = "triggers: due triggers could not be read";
    expect(messages).toEqual([BACK, failed, failed]);
  });

  test("back also corrects what another process had computed before, and wrote after it", async () => {
    const trial = await open("2026-11-20T10:00:00Z");
    let isLate = false;
    await trial.start({
      wrap: (store) => ({
        ...store,
        async realign(changes) {
          const aligned = await store.realign(changes);
          const undone = changes.map(({ trigger_id, from, to }) => {
            return { trigger_id, from: to!, to: from };
          });
          if (!isLate) await store.realign(undone);
          isLate = true;
          return aligned;
        },
      }),
    });
    await trial.add("t-1", "*/20 * * * *");
    await trial.shift(-HOUR_MS);
    expect(await nextOf(trial)).toBe("2026-11-20T09:20");
  });

  test("back by a second at most changes nothing", async () => {
    const { trial } = await begin();
    for (let n = 0; n < 5; n++) await trial.shift(-1_000);
    expect(trial.lines).toEqual([]);
    await trial.pass(30 * MINUTE_MS);
    expect(await show(trial)).toEqual([...FIRED, "11-20T11:20 started"]);
    await trial.shift(-1_001);
    expect(trial.lines).toHaveLength(1);
  });

  test("back is followed from the begin again after a pause that broke off the first time", async () => {
    let isPaused = false;
    let reads = 0;
    const listTimed = async () => {
      isPaused = ++reads === 1;
      return [];
    };
    const adjustment = new ClockAdjustment({
      ...{ clock: createManualClock(), log: {} as never, isStopping: () => isPaused },
      triggers: { listTimed, realign: async () => 0 },
    });
    await adjustment.apply();
    isPaused = false;
    expect(adjustment.checkClock()).toBe(false);
    await adjustment.apply();
    expect([reads, adjustment.checkClock()]).toEqual([2, true]);
  });

  test("back is followed by hundreds of triggers", async () => {
    const trial = await open("2026-11-20T10:59:30Z");
    const ids = Array.from({ length: 350 }, (_, n) => `t-${n}`);
    for (const id of ids) await trial.add(id, "0 * * * *");
    const written: number[] = [];
    await trial.start({
      wrap: (store) => ({
        ...store,
        realign(changes) {
          written.push(changes.length);
          return store.realign(changes);
        },
      }),
    });
    await trial.shift(-HOUR_MS);
    await trial.pass(MINUTE_MS);
    expect(written).toEqual([100, 100, 100, 50]);
    for (const id of ids) {
      expect((await trial.listFires(id)).map(showFire)).toEqual(["11-20T10:00 started"]);
    }
  });
});
