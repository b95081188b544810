// Tests fires by the clock: each instant of a schedule once, with any clocks and processes.
import { afterEach, describe, expect, test } from "bun:test";
import { installationStore } from "../../src/installation/index.ts";
import { openTrial, showFire, type Trial } from "./trial.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const closing: Trial[] = [];
afterEach(async () => {
  for (const trial of closing.splice(0)) await trial.close();
});
async function open(start: string): Promise<Trial> {
  const trial = await openTrial(Date.parse(start));
  closing.push(trial);
  return trial;
}
const show = async (trial: Trial, id = "t-1") => (await trial.listFires(id)).map(showFire);
const nextOf = async ({ triggers }: Trial, id = "t-1") => {
  const { next_fire_at } = (await triggers.find(id))!;
  return next_fire_at && new Date(next_fire_at).toISOString().slice(5, 16);
};

describe("agents.does.trigger: a schedule", () => {
  test("fires at each of its instants, to the millisecond, and starts a run each time", async () => {
    const trial = await open("2026-11-20T10:00:30Z");
    await trial.start();
    await trial.add("t-1", "*/2 * * * *");
    await trial.clock.advance(89_999);
    await trial.turn();
    expect(await show(trial)).toEqual([]);
    await trial.clock.advance(1);
    await trial.turn();
    const [fire] = await trial.listFires("t-1");
    expect(fire!.created_at).toBe(Date.parse("2026-11-20T10:02:00Z"));
    await trial.pass(5 * MINUTE_MS);
    expect(await show(trial)).toEqual([
      ...["11-20T10:02 started", "11-20T10:04 started", "11-20T10:06 started"],
    ]);
    const runs = await Promise.all(
      (await trial.listFires("t-1")).map(({ run_id }) => trial.runs.find(run_id!, "a-1")),
    );
    const fires = (await trial.listFires("t-1")).map(({ id }) => id);
    expect(runs.map((run) => [run!.trigger_kind, run!.trigger_id, run!.fire_id])).toEqual(
      fires.map((id) => ["cron", "t-1", id]),
    );
    expect(await nextOf(trial)).toBe("11-20T10:08");
    expect(trial.lines).toEqual([]);
  });

  test("is noticed as soon as it is stored, also if another is due much later", async () => {
    const trial = await open("2026-11-20T10:00:59.500Z");
    await trial.add("t-2", "0 0 1 1 *");
    await trial.start();
    await trial.add("t-1", "* * * * *");
    await trial.clock.advance(500);
    await trial.turn();
    expect(await show(trial)).toEqual(["11-20T10:01 started"]);
  });

  test("is left to others by a process whose clock is wrong, until it is right", async () => {
    const trial = await open("2026-11-20T10:00:10Z");
    const process = { isSkewed: true };
    await trial.start({ process });
    await trial.add("t-1", "* * * * *");
    await trial.pass(120_000);
    expect(await show(trial)).toEqual([]);
    process.isSkewed = false;
    await trial.pass(30_000);
    expect(await show(trial)).toEqual(["11-20T10:02 started -1"]);
  });

  test("fires as soon as the pause of its installation ends", async () => {
    const trial = await open("2026-11-20T10:00:10Z");
    const installation = trial.database.bind(installationStore);
    const { id } = await installation.find();
    await installation.adopt(id, null, trial.clock.now());
    await trial.start();
    await trial.add("t-1", "* * * * *");
    await trial.pass(MINUTE_MS);
    expect(await show(trial)).toEqual([]);
    await installation.resume();
    await trial.turn();
    expect(await show(trial)).toEqual(["11-20T10:01 started"]);
  });

  test("is also found within half a minute without a notification", async () => {
    const trial = await open("2026-11-20T10:00:10Z");
    await trial.start();
    const next_fire_at = Date.UTC(2027, 0, 1);
    await trial.add("t-1", "* * * * *", { next_fire_at });
    await trial.pass(10_000);
    // As after a lost notification.
    const to = Date.UTC(2026, 10, 20, 10, 1);
    await trial.triggers.realign([{ trigger_id: "t-1", from: next_fire_at, to }]);
    await trial.pass(60_000);
    expect(await show(trial)).toEqual(["11-20T10:01 started"]);
  });

  test.each([
    [
      "New York, an hour is left out",
      "America/New_York",
      "2026-03-08T05:00Z",
      5,
      "30 2 * * *",
      ["03-08T07:00"],
    ],
    [
      "New York, an hour is repeated",
      "America/New_York",
      "2026-11-01T04:00Z",
      5,
      "30 1 * * *",
      ["11-01T05:30"],
    ],
    [
      ...(["New York, an hour is repeated", "America/New_York", "2026-11-01T04:40Z", 3] as const),
      ...(["30 * * * *", ["11-01T05:30", "11-01T06:30", "11-01T07:30"]] as const),
    ],
    [
      "Lord Howe, half an hour is left out",
      "Australia/Lord_Howe",
      "2026-10-03T14:00Z",
      3,
      "15 2 * * *",
      ["10-03T15:30"],
    ],
    [
      "Lord Howe, half an hour is repeated",
      "Australia/Lord_Howe",
      "2026-04-04T14:00Z",
      3,
      "45 1 * * *",
      ["04-04T14:45"],
    ],
    [
      "Riyadh, which has no summer time",
      "Asia/Riyadh",
      "2026-03-28T20:00Z",
      8,
      "0 3 * * *",
      ["03-29T00:00"],
    ],
  ] as const)(
    "fires across a summer-time change: %s",
    async (_, time_zone, start, hours, cron, fires) => {
      const trial = await open(start);
      await trial.start();
      await trial.add("t-1", cron, { time_zone });
      await trial.pass(hours * HOUR_MS);
      expect(await show(trial)).toEqual(fires.map((at) => `${at} started`));
    },
  );
});

describe("agents.does.trigger: an instant that was due while no process ran", () => {
  test.each([
    // Catch-up is off, except for one minute, for which the process may have been busy.
    [0, 90 * MINUTE_MS + 60_000, "11-20T11:30 started -8"],
    [0, 90 * MINUTE_MS + 60_001, "11-20T11:30 missed -9"],
    [3_600, 9 * HOUR_MS + HOUR_MS, "11-20T20:00 started -59"],
    [3_600, 9 * HOUR_MS + 9 * MINUTE_MS, "11-20T19:00 started -53"],
    [86_400, 5 * DAY_MS, "11-25T10:00 started -719"],
  ])(
    "fires once for the latest instant, if it is at most %i s late: by %i ms",
    async (catch_up_seconds, down_ms, expected) => {
      const trial = await open("2026-11-20T10:00:00Z");
      await trial.add("t-1", "*/10 * * * *", { catch_up_seconds });
      await trial.clock.advance(down_ms);
      const keeper = await trial.start();
      expect(await show(trial)).toEqual([expected]);
      // The next process finds none left.
      await keeper.stop(0);
      await trial.start();
      expect(await show(trial)).toEqual([expected]);
    },
  );

  test("is missed if the latest is too old to be caught up with", async () => {
    const trial = await open("2026-11-20T10:00:00Z");
    await trial.add("t-1", "0 12 * * *", { catch_up_seconds: 3_600 });
    await trial.add("t-2", "0 12 * * *", { catch_up_seconds: 86_400 });
    await trial.add("t-3", "* * * * *", { catch_up_seconds: 0 });
    await trial.clock.advance(3 * DAY_MS + 3 * HOUR_MS + 30_000);
    await trial.start();
    expect(await show(trial)).toEqual(["11-23T12:00 missed -4"]);
    expect(await show(trial, "t-2")).toEqual(["11-23T12:00 started -3"]);
    expect(await show(trial, "t-3")).toEqual(["11-23T13:00 started -4499"]);
    expect(await nextOf(trial)).toBe("11-24T12:00");
    // agents.events.webhook.4: of a missed one, too.
    expect(await trial.outbox.list("a-1")).toHaveLength(3);
  });

  test("is counted up to a maximum", async () => {
    const trial = await open("2026-01-01T00:00:00Z");
    await trial.add("t-1", "* * * * *");
    await trial.clock.advance(300 * DAY_MS);
    await trial.start();
    expect(await show(trial)).toEqual(["10-28T00:00 started -10000"]);
  });

  test("waits while triggers or the whole service are disabled, and is caught up with", async () => {
    const trial = await open("2026-11-20T10:00:00Z");
    trial.settings.agents.triggers = false;
    await trial.add("t-1", "*/10 * * * *", { catch_up_seconds: 600 });
    await trial.start();
    await trial.pass(35 * MINUTE_MS);
    expect(await show(trial)).toEqual([]);
    trial.settings.agents = { open: false, triggers: true };
    await trial.pass(10 * MINUTE_MS);
    expect(await show(trial)).toEqual([]);
    trial.settings.agents = { open: true, triggers: true };
    await trial.pass(30_000);
    expect(await show(trial)).toEqual(["11-20T10:40 started -3"]);
    await trial.pass(5 * MINUTE_MS);
    expect(await show(trial)).toEqual(["11-20T10:40 started -3", "11-20T10:50 started"]);
  });
});
