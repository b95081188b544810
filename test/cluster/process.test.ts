// A process among others: whom it holds for dead, and what the houses that claim by it are told.
import { afterEach, describe, expect, test } from "bun:test";
import { Process } from "../../src/cluster/process.ts";
import { processStore } from "../../src/cluster/store.ts";
import { type Database, openDatabase } from "../../src/database/index.ts";
import { createManualClock } from "../support/clock.ts";
import { placeInMemory } from "../support/memory.ts";

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

/** A database that others may use, too, unless `engine` says that it has one user. */
async function openWorld(engine: Database["engine"] = "postgres"): Promise<World> {
  const clock = createManualClock();
  const database = await openDatabase({
    ...{ place: await placeInMemory(), stores: [processStore], clock },
    onFailure(failure) {
      throw failure;
    },
  });
  closing.push(database);
  return { database: { ...database, engine }, clock, store: bindProcesses(database) };
}

/** A process, and what its claimants were told: `dead`: of 1 to 9, those that were dead then. */
function create(
  { database, clock }: World,
  takeUp = async (_times: number, _isDead: (epoch: number) => boolean) => {},
) {
  const lines: string[] = [];
  const told: string[] = [];
  const log = { error: (message: string) => void lines.push(message) } as never;
  const onFatal = (why: Error) => void lines.push(`fatal: ${why.message}`);
  const process = new Process({ database, clock, log, onFatal });
  let times = 0;
  const join = (name = "") =>
    process.join({
      async reclaim(isDead) {
        const dead = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter(isDead);
        told.push(`${name}dead ${dead}`);
        await takeUp(++times, isDead);
      },
      onEpochLost: () => void told.push(`${name}lost ${process.epoch}`),
      onHeartbeat: () => void told.push(`${name}sign`),
    });
  join();
  return { process, lines, told, join, tell: () => told.splice(0) };
}

describe("a process that is alone with its database", () => {
  test("has all before it for dead at once, and says so at each look", async () => {
    const world = await openWorld("sqlite");
    for (let n = 0; n < 3; n++) await world.store.register(0);
    await world.store.end(2, 5);
    const { process, tell, lines } = create(world);
    expect(process.epoch).toBe(0);
    await process.start();
    expect(process.epoch).toBe(4);
    expect(tell()).toEqual(["dead 1,2,3"]);
    // It shows no sign, for nobody could see it.
    const own = { epoch: 4, beats: 0, started_at: world.clock.now(), ended_at: null };
    expect(await world.store.list()).toEqual([own]);
    await world.clock.advance(4_000);
    expect(tell()).toEqual(["dead 1,2,3", "sign", "dead 1,2,3", "sign"]);
    expect(await world.store.list()).toEqual([own]);
    expect(lines).toEqual([]);
  });

  test("goes when another has ended its number, and takes up nothing more", async () => {
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
    // The other one is left alone.
    expect((await world.store.list()).map(({ epoch }) => epoch)).toEqual([2]);
    expect(world.clock.pending()).toBe(0);
  });

  test("ends with its stop, and looks no further", async () => {
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

test("a process that stops while it takes up looks no further either", async () => {
  const world = await openWorld("sqlite");
  const go = Promise.withResolvers<void>();
  const { process, told } = create(world, async (times) => {
    if (times === 2) await go.promise;
  });
  await process.start();
  await world.clock.advance(2_000);
  await process.stop();
  go.resolve();
  await world.clock.advance(60_000);
  expect(told).toEqual(["dead ", "dead ", "sign"]);
  expect(world.clock.pending()).toBe(0);
});

describe("a process among others", () => {
  test("has those for dead that showed nothing for ten seconds, whatever they showed before", async () => {
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
    // The last sign of the other was seen two seconds before.
    await world.clock.advance(6_000);
    expect(tell().at(-2)).toBe("dead 1");
    await world.clock.advance(2_000);
    expect(tell()).toEqual(["dead 1,2", "sign"]);
  });

  test("shows that it lives every two seconds, and is not taken for dead", async () => {
    const world = await openWorld();
    const [first, second] = [create(world), create(world)];
    await first.process.start();
    await second.process.start();
    await world.clock.advance(60_000);
    expect(await world.store.list()).toMatchObject([
      { epoch: 1, beats: 30 },
      { epoch: 2, beats: 30 },
    ]);
    for (const { told, lines } of [first, second]) {
      expect(new Set(told)).toEqual(new Set(["dead ", "sign"]));
      expect(lines).toEqual([]);
    }
  });

  test("takes up what one left that came behind it, again and again", async () => {
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

  test("never has one for dead that enters while it takes up", async () => {
    const world = await openWorld();
    const judged: boolean[] = [];
    const { process } = create(world, async (_times, isDead) => {
      judged.push(isDead(await world.store.register(0)));
    });
    await process.start();
    await world.clock.advance(2_000);
    expect(judged).toEqual([false, false]);
  });

  test("that others hold for dead tells so, and begins anew before it takes up", async () => {
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

  test("that stops while it shows that it lives does not begin anew", async () => {
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
    expect({ told: tell(), lines, list: await store.list() }).toEqual({
      ...{ told: [], lines: [], list: [] },
    });
  });
});

describe("houses that claim by one process", () => {
  test("are told in their order, each for itself: what one cannot do holds up no other", async () => {
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
    expect(lines).toEqual(["process: the heartbeat could not be written"]);
    await world.clock.advance(2_000);
    expect(tell().toSorted()).toEqual(["dead 1", "other dead 1", "other sign", "sign"]);
  });

  test("hold up the start until all have taken up, and fail it", async () => {
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
