// Tests which processes a process takes for dead, and the calls to modules that claim by it.
import { afterEach, describe, expect, test } from "bun:test";
import { Process } from "../../src/cluster/process.ts";
import { processStore } from "../../src/cluster/store.ts";
import { type Database, DatabaseUnavailable, openDatabase } from "../../src/database/index.ts";
import { createManualClock } from "../support/clock.ts";
import { placeInMemory } from "../support/memory.ts";
import { keepTime } from "../support/process-clock.ts";

const closing: Database[] = [];
afterEach(async () => {
  for (const database of closing.splice(0)) await database.close();
});

interface World {
  database: Database;
  clock: ReturnType<typeof createManualClock>;
  store: ReturnType<typeof bindProcesses>;
}
const bindProcesses = (database: Database) => database.bind(processStore);

/** A shared database, unless `engine` has a single user. */
async function openWorld(engine: Database["engine"] = "postgres"): Promise<World> {
  const clock = createManualClock();
  const database = await openDatabase({
    ...{ place: await placeInMemory(), stores: [processStore], clock },
    onFailure(failure) {
      throw failure;
    },
  });
  closing.push(database);
  const isShared = engine === "postgres";
  const bind = (one: never) => keepTime(database.bind(one), clock);
  const seen = { ...database, engine, isShared, bind } as Database;
  return { database: seen, clock, store: bindProcesses(database) };
}

/** A process and its calls to claimants; `dead` lists the dead ones of epochs 1 to 9. */
function create(
  { database, clock }: World,
  onReclaim = async (_times: number, _isDead: (epoch: number) => boolean) => {},
) {
  const lines: string[] = [];
  const events: string[] = [];
  const log = { info() {}, error: (message: string) => void lines.push(message) } as never;
  const onFatal = (why: Error) => void lines.push(`fatal: ${why.message}`);
  const process = new Process({ database, clock, log, onFatal });
  let times = 0;
  const join = (name = "") =>
    process.join({
      async reclaim(isDead) {
        const dead = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter(isDead);
        events.push(`${name}dead ${dead}`);
        await onReclaim(++times, isDead);
      },
      onEpochLost: () => void events.push(`${name}lost ${process.epoch}`),
      onHeartbeat: () => void events.push(`${name}sign`),
    });
  join();
  return { process, lines, events, join, tell: () => events.splice(0) };
}

describe("a process that is alone with its database", () => {
  test("reclaims all earlier epochs at once, and at every poll", async () => {
    const world = await openWorld("sqlite");
    for (let n = 0; n < 3; n++) await world.store.register(0);
    await world.store.end(2, 5);
    const { process, tell, lines } = create(world);
    expect(process.epoch).toBe(0);
    await process.start();
    expect(process.epoch).toBe(4);
    expect(tell()).toEqual(["dead 1,2,3"]);
    // It sends no heartbeat, which no other process could read.
    const own = { epoch: 4, beats: 0, started_at: world.clock.now(), ended_at: null, state: null };
    expect(await world.store.list()).toEqual([own]);
    await world.clock.advance(4_000);
    expect(tell()).toEqual(["dead 1,2,3", "sign", "dead 1,2,3", "sign"]);
    expect(await world.store.list()).toEqual([own]);
    expect(lines).toEqual([]);
  });

  test("ends when another process ends its epoch, and reclaims nothing more", async () => {
    const world = await openWorld("sqlite");
    const { process, tell, lines } = create(world);
    await process.start();
    await world.store.register(0);
    await world.store.end(process.epoch, 0);
    tell();
    await world.clock.advance(2_000);
    const sentence =
      "another server has taken over this data: only one may run on it; this one ends";
    expect(lines).toEqual([sentence, `fatal: ${sentence}`]);
    expect(tell()).toEqual([]);
    // The other process is left alone.
    expect((await world.store.list()).map(({ epoch }) => epoch)).toEqual([2]);
    expect(world.clock.pending()).toBe(0);
  });

  test("stops polling when it is stopped", async () => {
    const world = await openWorld("sqlite");
    const { process, tell } = create(world);
    await process.start();
    await process.stop();
    expect(await world.store.list()).toEqual([]);
    tell();
    await world.clock.advance(60_000);
    expect(tell()).toEqual([]);
    expect(world.clock.pending()).toBe(0);
  });
});

test("a process that is stopped during a reclaim stops polling too", async () => {
  const world = await openWorld("sqlite");
  const go = Promise.withResolvers<void>();
  const { process, events } = create(world, async (times) => {
    if (times === 2) await go.promise;
  });
  await process.start();
  await world.clock.advance(2_000);
  await process.stop();
  go.resolve();
  await world.clock.advance(60_000);
  expect(events).toEqual(["dead ", "dead ", "sign"]);
  expect(world.clock.pending()).toBe(0);
});

describe("a process among others", () => {
  test("takes no process for dead whose end could not be written", async () => {
    const world = await openWorld();
    await world.store.register(0);
    let failures = 1;
    const bind = (one: typeof processStore) => {
      const store = world.database.bind(one);
      const endSilent: typeof store.endSilent = async (...given) => {
        if (failures-- > 0) throw new Error("the disk is full");
        return store.endSilent(...given);
      };
      return { ...store, endSilent };
    };
    const database = { ...world.database, bind } as unknown as Database;
    const { process, tell } = create({ ...world, database });
    await process.start();
    await world.clock.advance(10_000);
    expect(failures).toBe(0);
    tell();
    await world.store.beat(1);
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead ", "sign"]);
  });

  test("takes those for dead that sent no heartbeat for ten seconds, whatever came before", async () => {
    const world = await openWorld();
    await world.store.register(0);
    await world.store.register(0);
    const { process, tell } = create(world);
    await process.start();
    for (let ms = 0; ms < 8_000; ms += 2_000) {
      await world.store.beat(2);
      await world.clock.advance(2_000);
    }
    expect(new Set(tell())).toEqual(new Set(["dead ", "sign"]));
    await world.clock.advance(1_999);
    expect(tell()).toEqual([]);
    await world.clock.advance(1);
    expect(tell()).toEqual(["dead 1", "sign"]);
    expect((await world.store.list()).map(({ epoch }) => epoch)).toEqual([2, 3]);
    // The other's last heartbeat was seen two seconds before.
    await world.clock.advance(6_000);
    expect(tell().at(-2)).toBe("dead 1");
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 1,2", "sign"]);
  });

  test("does not end one that beats between its last look and the end", async () => {
    const world = await openWorld();
    await world.store.register(0);
    let beatsLeft = 1;
    const bind = (one: typeof processStore) => {
      const store = world.database.bind(one);
      const endSilent: typeof store.endSilent = async (...given) => {
        if (beatsLeft-- > 0) await store.beat(1);
        return store.endSilent(...given);
      };
      return { ...store, endSilent };
    };
    const database = { ...world.database, bind } as unknown as Database;
    const { process, tell } = create({ ...world, database });
    await process.start();
    await world.clock.advance(10_000);
    expect(beatsLeft).toBe(0);
    expect(new Set(tell())).toEqual(new Set(["dead ", "sign"]));
    // That heartbeat counts from when it was seen.
    await world.clock.advance(10_000);
    expect(new Set(tell())).toEqual(new Set(["dead ", "sign"]));
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 1", "sign"]);
  });

  test("beats on while it takes over the work of a dead one, however long that takes", async () => {
    const world = await openWorld();
    const go = Promise.withResolvers<void>();
    const { process, tell } = create(world, async (times) => {
      if (times === 2) await go.promise;
    });
    await process.start();
    await world.clock.advance(20_000);
    expect(await world.store.list()).toMatchObject([{ epoch: 1, beats: 10 }]);
    expect(tell()).toEqual(["dead ", "dead "]);
    go.resolve();
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["sign", "dead ", "sign"]);
  });

  /** A database whose heartbeats wait for `answer`. */
  async function openSlowWorld() {
    const world = await openWorld();
    const beats = { answer: Promise.withResolvers<void>() };
    beats.answer.resolve();
    const bind = (one: typeof processStore) => {
      const store = world.database.bind(one);
      const beat: typeof store.beat = async (epoch) => {
        await beats.answer.promise;
        return store.beat(epoch);
      };
      return { ...store, beat };
    };
    const database = { ...world.database, bind } as unknown as Database;
    return { world: { ...world, database }, beats };
  }

  test("beats again at once where the answer came too late to open the fence", async () => {
    const { world, beats } = await openSlowWorld();
    const { process } = create(world);
    await process.start();
    beats.answer = Promise.withResolvers<void>();
    await world.clock.advance(9_000);
    const passed = process.fence.pass();
    beats.answer.resolve();
    expect(await passed).toBe(true);
    // The first was sent too long ago.
    expect(await world.store.list()).toMatchObject([{ beats: 2 }]);
    await process.stop();
    expect(world.clock.pending()).toBe(0);
  });

  test("begins no effect six seconds after its last heartbeat, until the next one", async () => {
    const { world, beats } = await openSlowWorld();
    const { process } = create(world);
    expect(process.fence.isOpen).toBe(false);
    await process.start();
    await world.clock.advance(60_000);
    expect(process.fence.isOpen).toBe(true);
    beats.answer = Promise.withResolvers<void>();
    await world.clock.advance(5_999);
    expect(process.fence.isOpen).toBe(true);
    await world.clock.advance(1);
    expect(process.fence.isOpen).toBe(false);
    // The heartbeat that comes through was sent four seconds ago.
    beats.answer.resolve();
    await world.clock.advance(0);
    expect(process.fence.isOpen).toBe(true);
  });

  test("counts its lease from the request for an epoch, not from the answer", async () => {
    const world = await openWorld();
    const bind = (one: typeof processStore) => ({
      ...world.database.bind(one),
      async register(now: number) {
        const epoch = await world.store.register(now);
        await world.clock.advance(6_000);
        return epoch;
      },
    });
    const database = { ...world.database, bind } as unknown as Database;
    const { process } = create({ ...world, database });
    await process.start();
    expect(process.fence.isOpen).toBe(false);
  });

  test("beats at once for work that waits at its fence, once at a time", async () => {
    const world = await openWorld();
    const { process } = create(world);
    await process.start();
    world.clock.shiftWall(6_000);
    const passed = await Promise.all([process.fence.pass(), process.fence.pass()]);
    expect(passed).toEqual([true, true]);
    expect(await world.store.list()).toMatchObject([{ beats: 1 }]);
    await world.clock.advance(2_000);
    expect(await world.store.list()).toMatchObject([{ beats: 2 }]);
    await process.stop();
    expect(world.clock.pending()).toBe(0);
  });

  test("sends a heartbeat every two seconds, and is not taken for dead", async () => {
    const world = await openWorld();
    const [first, second] = [create(world), create(world)];
    await first.process.start();
    await second.process.start();
    await world.clock.advance(60_000);
    expect(await world.store.list()).toMatchObject([
      { epoch: 1, beats: 30 },
      { epoch: 2, beats: 30 },
    ]);
    for (const { events, lines } of [first, second]) {
      expect(new Set(events)).toEqual(new Set(["dead ", "sign"]));
      expect(lines).toEqual([]);
    }
  });

  test("takes none for dead whose heartbeats it could not see while the database was away", async () => {
    const world = await openWorld();
    let isAway = false;
    const bind = (one: typeof processStore) => {
      const store = world.database.bind(one);
      const beat: typeof store.beat = async (epoch) => {
        if (isAway) throw new DatabaseUnavailable("no leader");
        return store.beat(epoch);
      };
      return { ...store, beat };
    };
    const database = { ...world.database, bind } as unknown as Database;
    const [first, second] = [create({ ...world, database }), create({ ...world, database })];
    await first.process.start();
    await second.process.start();
    await world.store.register(0);
    await world.clock.advance(4_000);
    isAway = true;
    await world.clock.advance(24_000);
    isAway = false;
    await world.clock.advance(10_000);
    for (const { events } of [first, second]) {
      expect(new Set(events)).toEqual(new Set(["dead ", "sign"]));
    }
    // One that had died meanwhile is found ten seconds after the database is back.
    await world.clock.advance(2_000);
    for (const { events } of [first, second]) expect(events.at(-2)).toBe("dead 3");
  });

  test("reclaims late work of an ended epoch, again and again", async () => {
    const world = await openWorld();
    const { process, tell } = create(world);
    await process.start();
    await world.store.register(0);
    await world.clock.advance(10_000);
    expect(new Set(tell())).toEqual(new Set(["dead ", "sign"]));
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 2", "sign"]);
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 2", "sign"]);
  });

  test("takes those for dead that another process has ended, since that may die in turn", async () => {
    const world = await openWorld();
    const { process, tell } = create(world);
    await process.start();
    for (let n = 0; n < 2; n++) await world.store.register(0);
    await world.clock.advance(2_000);
    await world.store.end(3, 0);
    tell();
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 3", "sign"]);
  });

  test("never takes a process for dead that registers during its reclaim", async () => {
    const world = await openWorld();
    const results: boolean[] = [];
    const { process } = create(world, async (_times, isDead) => {
      results.push(isDead(await world.store.register(0)));
    });
    await process.start();
    await world.clock.advance(2_000);
    expect(results).toEqual([false, false]);
  });

  test("that others take for dead reports it, and registers again before it reclaims", async () => {
    const world = await openWorld();
    const { process, tell, lines } = create(world);
    await process.start();
    await world.store.end(1, 0);
    tell();
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["lost 1", "dead 1", "sign"]);
    expect(process.epoch).toBe(2);
    expect(lines).toEqual([
      "process: declared dead by another process; it continues with a new epoch",
    ]);
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 1", "sign"]);
    expect(lines).toHaveLength(1);
  });

  test("that is stopped during a heartbeat does not register again", async () => {
    const world = await openWorld();
    const { beat, ...store } = world.store;
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = {
      ...store,
      async beat(epoch: number) {
        asked.resolve();
        await go.promise;
        return beat(epoch);
      },
    };
    const database: Database = { ...world.database, bind: () => slow as never };
    const { process, tell, lines } = create({ ...world, database });
    await process.start();
    tell();
    await world.clock.advance(2_000);
    await asked.promise;
    await process.stop();
    go.resolve();
    await world.clock.advance(10_000);
    expect({ events: tell(), lines, list: await store.list() }).toEqual({
      ...{ events: [], lines: [], list: [] },
    });
  });
});

test("a heartbeat that meets the end of a stop in progress does not register again", async () => {
  const world = await openWorld();
  const { beat, end, ...store } = world.store;
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [ended, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = {
    ...store,
    async beat(epoch: number) {
      asked.resolve();
      await go.promise;
      return beat(epoch);
    },
    async end(epoch: number, now: number) {
      await end(epoch, now);
      ended.resolve();
      await answer.promise;
    },
  };
  const database: Database = { ...world.database, bind: () => slow as never };
  const { process, tell, lines } = create({ ...world, database });
  await process.start();
  tell();
  await world.clock.advance(2_000);
  await asked.promise;
  const stopping = process.stop();
  await ended.promise;
  go.resolve();
  await world.clock.advance(10_000);
  answer.resolve();
  await stopping;
  expect({ events: tell(), lines, list: await store.list() }).toEqual({
    ...{ events: [], lines: [], list: [] },
  });
});

test("a process alone on its data spares the epochs of a takeover until it has ended", async () => {
  const world = await openWorld("sqlite");
  const old = create(world);
  await old.process.start();
  old.process.spare(() => true);
  const next = create(world);
  next.process.spare((epoch) => epoch === old.process.epoch);
  await next.process.start();
  expect([old.tell(), next.tell()]).toEqual([["dead "], ["dead "]]);
  await world.clock.advance(20_000);
  expect([...old.lines, ...next.lines]).toEqual([]);
  const alive = async () => (await world.store.list()).map(({ epoch }) => epoch);
  expect(await alive()).toEqual([1, 2]);
  await old.process.stop();
  next.process.spare(() => false);
  await world.clock.advance(2_000);
  expect(next.tell().at(-2)).toBe("dead 1");
  expect(await alive()).toEqual([2]);
  await next.process.stop();
});

describe("modules that reclaim by one process", () => {
  test("are called in order, and the failure of one holds up no other", async () => {
    const world = await openWorld("sqlite");
    await world.store.register(0);
    const { process, join, tell, lines } = create(world, async (times) => {
      if (times === 3) throw new Error("disk full");
    });
    join("other ");
    await process.start();
    expect(tell()).toEqual(["dead 1", "other dead 1"]);
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 1", "other dead 1", "other sign"]);
    expect(lines).toEqual(["process: work of dead processes could not be found"]);
    await world.clock.advance(2_000);
    expect(tell().toSorted()).toEqual(["dead 1", "other dead 1", "other sign", "sign"]);
  });

  test("hold up the start until all have reclaimed, and a failure fails it", async () => {
    const world = await openWorld("sqlite");
    const go = Promise.withResolvers<void>();
    const slow = create(world, () => go.promise);
    let isStarted = false;
    const started = Promise.resolve(slow.process.start()).then(() => {
      isStarted = true;
    });
    await world.clock.advance(0);
    expect([slow.tell(), isStarted]).toEqual([["dead "], false]);
    go.resolve();
    await started;

    const failing = create(world, async () => {
      throw new Error("disk full");
    });
    expect(await Promise.resolve(failing.process.start()).catch((error) => error.message)).toBe(
      "disk full",
    );
  });
});

test("a process whose clock is over a second apart from the database's is not ready", async () => {
  const world = await openWorld();
  let offMs = 0;
  const bind = (one: typeof processStore) => {
    const { beat, ...store } = world.database.bind(one);
    const late = async (epoch: number) => ((await beat(epoch)) ?? 0) + offMs;
    return { ...store, beat: late };
  };
  const database = { ...world.database, bind } as unknown as Database;
  const { process, lines } = create({ ...world, database });
  await process.start();
  for (const [off, isSkewed] of [
    ...([
      [0, false],
      [1_000, false],
      [1_001, true],
    ] as const),
    ...([
      [-1_000, false],
      [-300_000, true],
      [0, false],
    ] as const),
  ]) {
    offMs = off;
    await world.clock.advance(2_000);
    expect([off, process.isSkewed]).toEqual([off, isSkewed]);
  }
  const line = "process: its clock differs from the database's, so that it is not ready";
  expect(lines).toEqual([`${line}: -1001 ms ahead`, `${line}: 300000 ms ahead`]);
});

test("a lone process is ready whatever its clock says", async () => {
  const world = await openWorld();
  const bind = (one: typeof processStore) => {
    const { beat, ...store } = world.database.bind(one);
    return { ...store, beat: async (epoch: number) => ((await beat(epoch)) ?? 0) + 300_000 };
  };
  const database = { ...world.database, bind, isShared: false } as unknown as Database;
  const { process } = create({ ...world, database });
  world.clock.shiftWall(300_000);
  await process.start();
  await world.clock.advance(2_000);
  expect(process.isSkewed).toBe(false);
});

test("a drained process owns no work until it serves again", async () => {
  const world = await openWorld();
  const { process } = create(world);
  await process.start();
  const owned = [process.members.owns("work")];
  for (const turn of [world.store.drain, world.store.undrain]) {
    await turn(process.epoch);
    await world.clock.advance(2_000);
    owned.push(process.members.owns("work"));
  }
  expect(owned).toEqual([true, false, true]);
});

describe("a lease", () => {
  test("is of one process until its work ends, also by a bug", async () => {
    const world = await openWorld();
    const [one, other] = [create(world).process, create(world).process];
    for (const process of [one, other]) await process.start();
    const take = () => other.withLease("work", async () => {});
    const tried: boolean[] = [];
    const isOwn = await one.withLease("work", async (mayAct) => {
      tried.push(await mayAct(), await take());
    });
    expect([isOwn, tried, await take()]).toEqual([true, [true, false], true]);
    const bug = one.withLease("work", async () => {
      throw new Error("a bug");
    });
    expect(bug).rejects.toThrow("a bug");
    await bug.catch(() => {});
    expect(await take()).toBe(true);
  });

  test("ends although the database is away at the end of its work", async () => {
    const world = await openWorld();
    const refused = Promise.withResolvers<void>();
    let isAway = false;
    const bind = (one: typeof processStore) => {
      const store = world.database.bind(one);
      const endLease: typeof store.endLease = async (...asked) => {
        if (!isAway) return store.endLease(...asked);
        isAway = false;
        refused.resolve();
        throw new DatabaseUnavailable("away");
      };
      return { ...store, endLease };
    };
    const database = { ...world.database, bind } as unknown as Database;
    const { process } = create({ ...world, database });
    await process.start();
    const done = process.withLease("work", async () => {
      isAway = true;
    });
    await refused.promise;
    await world.clock.advance(1_000);
    expect(await done).toBe(true);
    const { process: other } = create(world);
    await other.start();
    expect(await other.withLease("work", async () => {})).toBe(true);
  });

  test("allows nothing more to a process that others took for dead meanwhile", async () => {
    const world = await openWorld();
    const { process } = create(world);
    await process.start();
    await process.withLease("work", async (mayAct) => {
      await world.store.end(process.epoch, world.clock.now());
      await world.clock.advance(2_000);
      expect([process.epoch, await mayAct()]).toEqual([2, false]);
    });
  });

  test("allows nothing either where the heartbeat that it waits for finds the process dead", async () => {
    const world = await openWorld();
    const { process } = create(world);
    await process.start();
    await process.withLease("work", async (mayAct) => {
      await world.store.end(process.epoch, world.clock.now());
      world.clock.shiftWall(60_000);
      expect([process.fence.isOpen, await mayAct(), process.epoch]).toEqual([false, false, 2]);
    });
  });
});
