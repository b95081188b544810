// Tests concurrent schedulers, and failures around them, which delay as little as possible.
import { afterEach, describe, expect, test } from "bun:test";
import type { FireInput } from "../../src/triggers/store/fire.ts";
import { openPostgres } from "../support/pglite.ts";
import { openTrial, showFire, type Trial, type TriggerWrites } from "./trial.ts";

const MINUTE_MS = 60_000;

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});
async function open(start = "2026-11-20T10:00:30Z"): Promise<Trial> {
  const trial = await openTrial(Date.parse(start));
  closing.push(trial);
  return trial;
}
const show = async (trial: Trial, id = "t-1") => (await trial.listFires(id)).map(showFire);
const makeIds = (count: number, prefix = "t") =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`);

/** Calls back before each fire is written; an error is rethrown. */
const intercept =
  (onFire: (firing: FireInput) => unknown) =>
  (store: TriggerWrites): TriggerWrites => ({
    ...store,
    async fire(firing) {
      await onFire(firing);
      return store.fire(firing);
    },
  });

/** A barrier for this number of arrivals. */
function openGate(count: number) {
  const { promise: passed, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return { passed, arrive: () => ++arrived === count && resolve() };
}

describe("agents.does.trigger: of two concurrent processes", () => {
  const fireTwice = async (trial: Trial) => {
    const ids = makeIds(12);
    const reached: string[] = [];
    let minutes = 0;
    let both = openGate(2);
    /** The first fire of a minute waits until the other process has reached its own. */
    const start = () => {
      let passed = 0;
      const wait = async ({ trigger_id }: FireInput) => {
        reached.push(trigger_id);
        if (passed++ === 0) both.arrive();
        await both.passed;
      };
      return { wrap: intercept(wait), begin: () => (passed = 0) };
    };
    const keepers = [start(), start()];
    for (const { wrap } of keepers) await trial.start({ wrap });
    for (const id of ids) await trial.add(id, "* * * * *");
    await trial.clock.advance(0);
    for (const wait_ms of [30_000, MINUTE_MS, MINUTE_MS]) {
      minutes += 1;
      both = openGate(2);
      for (const { begin } of keepers) begin();
      await trial.clock.advance(wait_ms);
      await trial.until(async () => (await trial.outbox.list("a-1")).length === 12 * minutes);
    }
    await trial.turn();
    // At each instant both reached the first eight.
    expect(reached.length).toBeGreaterThanOrEqual(36 + 3 * 8);
    const at = ["10:01", "10:02", "10:03"];
    for (const id of ids) {
      expect(await show(trial, id)).toEqual(at.map((time) => `11-20T${time} started`));
    }
    expect(await trial.outbox.list("a-1")).toHaveLength(36);
    expect(trial.lines).toEqual([]);
  };

  test("one fires each instant", async () => fireTwice(await open()));

  test("one fires each instant also on PostgreSQL", async () => {
    const ground = await openPostgres();
    const start_ms = Date.parse("2026-11-20T10:00:30Z");
    const trial = await openTrial(start_ms, { place: await ground.makePlace() });
    closing.push(trial, { close: ground.release });
    await fireTwice(trial);
  });
});

describe("a trigger that cannot be fired", () => {
  test("holds up no other, is retried less and less often, and fires when it can", async () => {
    const trial = await open();
    const tries: number[] = [];
    let isBroken = true;
    await trial.start({
      wrap: intercept(({ trigger_id }) => {
        if (trigger_id !== "t-1") return;
        tries.push(trial.clock.monotonic() / 1_000 - 30);
        if (isBroken) throw new Error("a bug");
      }),
    });
    for (const id of makeIds(20)) await trial.add(id, "* * * * *", { catch_up_seconds: 0 });
    await trial.pass(2 * MINUTE_MS);
    for (const id of makeIds(20).slice(1)) {
      expect(await show(trial, id)).toEqual(["11-20T10:01 started", "11-20T10:02 started"]);
    }
    expect(tries).toEqual([0, 5, 15, 35, 65]);
    const line = { message: "triggers: a fire failed", trigger_id: "t-1" };
    expect(trial.lines).toMatchObject(Array.from({ length: 5 }, () => line));
    isBroken = false;
    await trial.pass(2 * MINUTE_MS);
    const fired = ["11-20T10:02 started -1", "11-20T10:03 started", "11-20T10:04 started"];
    expect(await show(trial)).toEqual(fired);
    // A fire ends the backoff: the next failure is retried as soon as the first one was.
    isBroken = true;
    tries.length = 0;
    await trial.pass(MINUTE_MS);
    expect(tries).toEqual([240, 245, 255]);
  });

  test("is missed if it could not be fired in time", async () => {
    const trial = await open();
    let failures = 6;
    const wrap = intercept(() => {
      if (failures-- > 0) throw new Error("a bug");
    });
    await trial.start({ wrap });
    await trial.add("t-1", "1 * * * *", { catch_up_seconds: 100 });
    await trial.pass(4 * MINUTE_MS);
    expect(await show(trial)).toEqual(["11-20T10:01 missed -1"]);
  });

  test("delays at most fifty others if all of them fail", async () => {
    const trial = await open();
    const tried: string[] = [];
    let isBroken = true;
    await trial.start({
      wrap: intercept(({ trigger_id }) => {
        tried.push(trigger_id);
        if (isBroken) throw new Error("the disk is full");
      }),
    });
    const ids = makeIds(80);
    for (const id of ids) await trial.add(id, "* * * * *");
    await trial.clock.advance(30_000);
    await trial.turn();
    expect(tried).toHaveLength(56);
    await trial.clock.advance(4_999);
    await trial.turn();
    expect(tried).toHaveLength(56);
    isBroken = false;
    await trial.clock.advance(1);
    await trial.turn();
    expect(new Set(tried).size).toBe(80);
    await trial.pass(30_000);
    for (const id of ids) expect(await show(trial, id)).toEqual(["11-20T10:01 started"]);
  });

  test("delays no others while some of them can be fired", async () => {
    const trial = await open();
    const ids = makeIds(160);
    const broken = new Set(ids.filter((_, at) => at % 2 === 0));
    const tried: string[] = [];
    await trial.start({
      wrap: intercept(({ trigger_id }) => {
        tried.push(trigger_id);
        if (broken.has(trigger_id)) throw new Error("a bug");
      }),
    });
    for (const id of ids) await trial.add(id, "* * * * *");
    await trial.clock.advance(30_000);
    await trial.turn();
    expect(tried.toSorted()).toEqual(ids.toSorted());
  });

  test("fires once if only the reply of its fire was lost", async () => {
    const trial = await open();
    let isLost = true;
    await trial.start({
      wrap: (store) => ({
        ...store,
        async fire(firing) {
          const fired = await store.fire(firing);
          if (isLost) throw new Error("the connection was cut");
          return fired;
        },
      }),
    });
    await trial.add("t-1", "* * * * *");
    await trial.pass(MINUTE_MS);
    isLost = false;
    await trial.pass(2 * MINUTE_MS);
    const at = ["10:01", "10:02", "10:03"];
    expect(await show(trial)).toEqual(at.map((time) => `11-20T${time} started`));
  });

  test("waits with all others while nothing can be read, and no longer", async () => {
    const trial = await open();
    let isBroken = true;
    await trial.start({
      wrap: (store) => ({
        ...store,
        async listDueAccounts(now) {
          if (isBroken) throw new Error("the database is away");
          return store.listDueAccounts(now);
        },
      }),
    });
    await trial.add("t-1", "* * * * *");
    await trial.pass(MINUTE_MS);
    expect(await show(trial)).toEqual([]);
    expect(trial.lines[0]).toMatchObject({ message: "triggers: due triggers could not be read" });
    isBroken = false;
    await trial.pass(5_000);
    expect(await show(trial)).toEqual(["11-20T10:01 started"]);
  });
});

describe("a changed schedule", () => {
  test("agents.states.p12: that is unreadable pauses its trigger with a reason", async () => {
    const trial = await open();
    await trial.start();
    const next_fire_at = trial.clock.now() + 1_000;
    await trial.add("t-1", "* * * * *", { time_zone: "Mars/Olympus", next_fire_at });
    await trial.add("t-2", "61 * * * *", { next_fire_at });
    await trial.add("t-3", "* * * * *");
    await trial.pass(MINUTE_MS);
    const whys = { "t-1": "`time_zone` has to be", "t-2": "The first field, the minute," };
    for (const [id, why] of Object.entries(whys)) {
      expect(await trial.triggers.find(id)).toMatchObject({
        ...{ status: "paused", next_fire_at: null },
        paused_reason: {
          ...{ type: "manual", code: "invalid_request" },
          message: expect.stringContaining(`Its schedule cannot be read any more. ${why}`),
          at: "2026-11-20T10:00:31.000Z",
        },
      });
    }
    expect(await show(trial)).toEqual([]);
    expect(await show(trial, "t-3")).toEqual(["11-20T10:01 started"]);
  });

  test("uses its zone's current clocks, and fires at no former instant", async () => {
    const trial = await open();
    const next_fire_at = Date.parse("2026-11-20T10:07:00Z");
    await trial.start();
    await trial.add("t-1", "*/20 * * * *", { next_fire_at });
    await trial.pass(10 * MINUTE_MS);
    expect(await show(trial)).toEqual([]);
    await trial.pass(10 * MINUTE_MS);
    expect(await show(trial)).toEqual(["11-20T10:20 started"]);
  });

  test("is used, also if it changed at the last moment", async () => {
    const trial = await open();
    let isChanged = false;
    await trial.start({
      wrap: intercept(async () => {
        if (isChanged) return;
        isChanged = true;
        await trial.triggers.change({
          ...{
            id: "t-1",
            account_id: "a-1",
            key_id: "k-1",
            transition: null,
            now: trial.clock.now(),
          },
          ...{ seen: { cron: "1 10 * * *", time_zone: "UTC" }, fields: { cron: "1,3 * * * *" } },
          next_fire_at: Date.parse("2026-11-20T10:01:00Z"),
        });
      }),
    });
    await trial.add("t-1", "1 10 * * *");
    await trial.pass(3 * MINUTE_MS);
    expect(await show(trial)).toEqual(["11-20T10:01 started", "11-20T10:03 started"]);
  });
});

describe("a scheduler", () => {
  test("lets accounts take turns: one with very many delays no other", async () => {
    const trial = await open();
    const order: string[] = [];
    await trial.start({ wrap: intercept(({ trigger_id }) => order.push(trigger_id)) });
    for (const id of makeIds(200, "many")) await trial.add(id, "1 * * * *");
    for (const id of makeIds(3, "few")) await trial.add(id, "1 * * * *", { account_id: "a-2" });
    await trial.add("one", "1 * * * *", { account_id: "a-3" });
    await trial.pass(MINUTE_MS);
    expect(order).toHaveLength(204);
    expect(order.indexOf("one")).toBeLessThan(8);
    // Three accounts have two slots each.
    const last = Math.max(...makeIds(3, "few").map((id) => order.indexOf(id)));
    expect(last).toBeLessThan(16);
  });

  test("fires eight at once, and lets running ones end before it stops", async () => {
    const trial = await open();
    const waiting: (() => void)[] = [];
    const wrap = intercept(() => new Promise<void>((resolve) => waiting.push(resolve)));
    const keeper = await trial.start({ wrap });
    const ids = makeIds(20);
    for (const id of ids) await trial.add(id, "1 * * * *");
    await trial.pass(MINUTE_MS);
    expect(waiting).toHaveLength(8);
    let isStopped = false;
    const stopped = Promise.resolve(keeper.stop(5_000)).then(() => {
      isStopped = true;
    });
    await trial.turn();
    expect(isStopped).toBe(false);
    for (const go of waiting) go();
    await stopped;
    const fired = await Promise.all(ids.map((id) => show(trial, id)));
    expect(fired.flat()).toHaveLength(8);
    await trial.pass(5 * MINUTE_MS);
    expect(waiting).toHaveLength(8);
    await trial.start();
    expect((await Promise.all(ids.map((id) => show(trial, id)))).flat()).toHaveLength(20);
  });

  test("fires no more than eight at once also when many backoffs end", async () => {
    const trial = await open();
    let isBroken = true;
    let under_way = 0;
    let most = 0;
    const wrap = (store: TriggerWrites): TriggerWrites => ({
      ...store,
      async fire(firing) {
        if (isBroken) throw new Error("the disk is full");
        most = Math.max(most, ++under_way);
        const fired = await store.fire(firing);
        under_way -= 1;
        return fired;
      },
    });
    await trial.start({ wrap });
    const ids = makeIds(20);
    for (const id of ids) await trial.add(id, "1 * * * *");
    await trial.pass(MINUTE_MS);
    isBroken = false;
    await trial.pass(MINUTE_MS);
    const fired = await Promise.all(ids.map((id) => show(trial, id)));
    expect([fired.flat().length, most]).toEqual([20, 8]);
  });

  test("notices an instant that is set while it reads the next one", async () => {
    const trial = await open("2026-11-20T10:00:59.500Z");
    let isAdded = false;
    const wrap = (store: TriggerWrites): TriggerWrites => ({
      ...store,
      async findNextDue(after) {
        const next = await store.findNextDue(after);
        if (!isAdded) {
          isAdded = true;
          await trial.add("t-1", "* * * * *");
        }
        return next;
      },
    });
    await trial.start({ wrap });
    await trial.clock.advance(500);
    await trial.turn();
    expect(await show(trial)).toEqual(["11-20T10:01 started"]);
  });

  test("that cannot end in time is not waited for", async () => {
    const trial = await open();
    const keeper = await trial.start({ wrap: intercept(() => new Promise(() => undefined)) });
    await trial.add("t-1", "* * * * *");
    await trial.pass(MINUTE_MS);
    const stopped = keeper.stop(5_000);
    await trial.pass(5_000);
    await stopped;
    expect(await show(trial)).toEqual([]);
  });
});
