// Tests random schedules, clock changes, processes that die at a write, and failing databases:
// no instant fires twice, none of a running process is lost, and missed ones are counted.
import { afterEach, expect, test } from "bun:test";
import type { Service } from "../../src/platform/service.ts";
import { nextAfter } from "../../src/triggers/cron/occurrences.ts";
import type { FireRow } from "../../src/triggers/fire.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { createDraw } from "../support/draw.ts";
import { countRounds } from "../support/rounds.ts";
import { readRuns } from "../support/runs.ts";
import { takeSchedule } from "./cron/use.ts";
import { openTrial, type Trial, type TriggerWrites } from "./trial.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SEEDS = Array.from({ length: countRounds(12) }, (_, n) => n + 1);
const ACTS = 24;
/** The kinds of writes of a scheduler. */
const WRITES = ["fire", "realign", "change"] as const;

const closing: Trial[] = [];
afterEach(async () => {
  for (const trial of closing.splice(0)) await trial.close();
});

/** Around both changes of summer time of New York and Lord Howe in 2026. */
const STARTS = ["2026-03-07T20:00Z", "2026-04-04T02:00Z", "2026-10-03T06:00Z", "2026-10-31T22:00Z"];
const ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Riyadh"];
const CATCH_UPS = [0, 3_600, 86_400];

/** A process that may be dead: from some write on none of its calls reaches the database. */
interface Cut {
  isDead: boolean;
  /** Writes until it dies, after the last one or before it. */
  left: number;
  side: "before" | "after";
  /** The number of writes that fail and report it. */
  failures: number;
}

function cutOff(store: TriggerWrites, cut: Cut): TriggerWrites {
  const never = () => new Promise<never>(() => undefined);
  const guarded = WRITES.map((method) => {
    const write = store[method] as (...given: unknown[]) => Promise<unknown>;
    return [
      method,
      async (...given: unknown[]) => {
        if (cut.isDead) return never();
        if (cut.failures > 0 && cut.failures-- > 0) throw new Error("the disk is full");
        if (--cut.left > 0) return write(...given);
        cut.isDead = true;
        // Other writes of the same moment may have reached the database, or not.
        if (cut.side === "after") await write(...given);
        return never();
      },
    ];
  });
  return { ...store, ...Object.fromEntries(guarded) };
}

/** A world in which clocks only go forward unless `isWild`. */
async function openWorld(seed: number, isWild: boolean) {
  const draw = createDraw(seed * 2 + (isWild ? 1 : 0));
  const below = (bound: number) => Math.floor(draw() * bound);
  const pick = <T>(some: readonly T[]): T => some[below(some.length)]!;
  const trial = await openTrial(Date.parse(pick(STARTS)) + below(HOUR_MS), { seed });
  closing.push(trial);
  const { clock } = trial;
  const makeSpan = () => below(pick([2 * MINUTE_MS, 3 * HOUR_MS, 30 * HOUR_MS]));
  const cut: Cut = { isDead: false, left: Number.POSITIVE_INFINITY, side: "after", failures: 0 };
  let keeper: Service | null = null;
  /** From here on a process has polled all the time. */
  let since: number;

  const start = async () => {
    const isDoomed = draw() < 0.5;
    Object.assign(cut, {
      isDead: false,
      left: isDoomed ? 1 + below(12) : Number.POSITIVE_INFINITY,
    });
    Object.assign(cut, { side: pick(["before", "after"]), failures: 0 });
    // Its own: another dead process stays dead.
    const own = { ...cut };
    current = own;
    keeper = await trial.start({ wrap: (store) => cutOff(store, own) });
    since = clock.now();
  };
  let current = cut;
  const makeCron = () =>
    pick([
      () => `*/${pick([1, 2, 7, 20])} * * * *`,
      () => `${below(60)} * * * *`,
      () => `${below(60)} ${pick([1, 2, 3])} * * *`,
      () => `${below(60)},${below(60)} ${below(24)},${below(4)} * * *`,
    ])();
  const rows: TriggerRow[] = [];
  const add = async () => {
    const timed = { time_zone: pick(ZONES), catch_up_seconds: pick(CATCH_UPS) };
    rows.push(await trial.add(`t-${rows.length}`, makeCron(), timed));
  };
  const acts = {
    look: () => trial.pass(MINUTE_MS * (1 + below(40))),
    async sleep() {
      await keeper?.stop(0);
      keeper = null;
      await clock.advance(makeSpan());
      if (isWild && draw() < 0.5) clock.shiftWall(-makeSpan());
      await start();
    },
    async jump() {
      clock.shiftWall(makeSpan());
      since = clock.now();
      await trial.pass(30_000);
    },
    async back() {
      clock.shiftWall(-makeSpan());
      since = clock.now();
      await trial.pass(30_000);
    },
    async fail() {
      current.failures = 1 + below(3);
      await trial.pass(4 * MINUTE_MS);
      current.failures = 0;
      await trial.pass(MINUTE_MS);
      since = clock.now();
      trial.lines.length = 0;
    },
    add,
  };
  type Act = keyof typeof acts;
  const names: Act[] = ["look", "look", "look", "sleep", "jump", "fail", "add"];
  if (isWild) names.push("back", "back");
  const act = async () => {
    await acts[pick(names)]();
    // No other failure happens: the only report is that of the clock.
    const messages = trial.lines.splice(0).map(({ message }) => message);
    expect(
      messages.filter((message) => !message.startsWith("triggers: the wall clock went back")),
    ).toEqual([]);
    if (current.isDead) await start();
  };
  for (let n = 0; n < 3; n++) await add();
  await start();
  return { trial, rows, act, start, lookedSince: () => since, isDead: () => current.isDead };
}
type World = Awaited<ReturnType<typeof openWorld>>;

/** Instants of a schedule in (after, until]. */
function* walk({ cron, time_zone }: TriggerRow, after: number, until: number): Generator<number> {
  const schedule = takeSchedule(cron!);
  for (let at = nextAfter(schedule, time_zone!, after); at !== null && at <= until; ) {
    yield at;
    at = nextAfter(schedule, time_zone!, at);
  }
}
const fireOf = (fires: readonly FireRow[], instant: number) =>
  fires.find(({ scheduled_at }) => scheduled_at === instant);

/** While a process polls, each instant fires. */
async function verifyReads({ trial, rows, lookedSince, isDead }: World, isWild: boolean) {
  if (isDead()) return;
  for (const row of rows) {
    const fires = await trial.listFires(row.id);
    const after = Math.max(lookedSince(), isWild ? 0 : row.created_at);
    if (row.created_at > after) continue;
    for (const instant of walk(row, after, trial.clock.now())) {
      const fire = fireOf(fires, instant);
      // An instant that was missed at its first passing stays missed.
      const outcome = fire && isWild && fire.outcome === "missed" ? "started" : fire?.outcome;
      expect([row.id, new Date(instant), outcome]).toEqual([row.id, new Date(instant), "started"]);
    }
  }
}

/** In any case: once each, on time or missed, with one event, and one run if it started. */
async function verifyFires({ trial, rows }: World) {
  const reported = new Map<string, number>();
  for (const { data } of await trial.outbox.list("a-1")) {
    const { id } = JSON.parse(data).fire;
    reported.set(id, (reported.get(id) ?? 0) + 1);
  }
  let [fired, started] = [0, 0];
  for (const row of rows) {
    const fires = await trial.listFires(row.id);
    expect(new Set(fires.map(({ scheduled_at }) => scheduled_at)).size).toBe(fires.length);
    for (const { id, scheduled_at, created_at, outcome, run_id, error } of fires) {
      expect([...walk(row, scheduled_at! - 1, scheduled_at!)]).toEqual([scheduled_at!]);
      const late_ms = created_at - scheduled_at!;
      expect(late_ms).toBeGreaterThanOrEqual(0);
      const is_missed = late_ms > Math.max(row.catch_up_seconds! * 1_000, MINUTE_MS);
      expect([outcome, error]).toEqual([is_missed ? "missed" : "started", null]);
      const run = run_id === null ? null : await trial.runs.find(run_id, "a-1");
      expect(run?.fire_id ?? null).toBe(is_missed ? null : id);
      expect(reported.get(id)).toBe(1);
      if (run) started += 1;
    }
    fired += fires.length;
  }
  expect(reported.size).toBe(fired);
  const counts = await readRuns(trial.database).counts();
  expect(counts[0]?.started ?? 0).toBe(started);
}

/** Every instant fired, or a later fire counts it. */
async function verifyMissed({ trial, rows }: World) {
  for (const row of rows) {
    const fires = await trial.listFires(row.id);
    let before = row.created_at;
    for (const { scheduled_at, outcome, missed_count } of fires) {
      const passed = [...walk(row, before, scheduled_at!)].length;
      const missed = outcome === "missed" ? passed : passed - 1;
      expect([row.id, missed_count]).toEqual([row.id, Math.min(missed, 10_000)]);
      before = scheduled_at!;
    }
    const { next_fire_at } = (await trial.triggers.find(row.id))!;
    expect([row.id, next_fire_at]).toEqual([row.id, walk(row, before, Infinity).next().value]);
    expect(next_fire_at).toBeGreaterThan(trial.clock.now());
  }
}

test.each(SEEDS)(
  "agents.does.trigger: each instant fires once, and all missed ones are counted; world %i",
  async (seed) => {
    const world = await openWorld(seed, false);
    for (let n = 0; n < ACTS; n++) {
      await world.act();
      await verifyReads(world, false);
    }
    await world.start();
    await verifyFires(world);
    await verifyMissed(world);
  },
);

test.each(SEEDS)(
  "agents.does.trigger: no instant fires twice, and none is lost, also if clocks go back; world %i",
  async (seed) => {
    const world = await openWorld(seed, true);
    for (let n = 0; n < ACTS; n++) {
      await world.act();
      await verifyReads(world, true);
    }
    await world.start();
    await verifyFires(world);
  },
);
