// The conformance suite on SQLite as `wadi serve` runs it, and failures of its writer.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { store } from "../../src/database/index.ts";
import { bundle } from "../support/bundle.ts";
import { holdWriteLock } from "../support/crash.ts";
import {
  failureOf,
  type Ground,
  openCopies,
  openTestDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { makeTrial, trialStore } from "../support/trial.ts";
import { testEngine } from "./conformance.ts";

const { find } = trialStore.reads;
const keptStore = store("trials", { find }, {}, ["find"]);

const [WRITER] = await bundle(new URL("../support/database-writer.ts", import.meta.url));

testEngine("SQLite with a writer", () => openCopies(WRITER));

describe("a writer", () => {
  let ground: Ground;
  beforeAll(() => {
    ground = openCopies(WRITER);
  });
  afterAll(() => ground.release());
  const open = async () => {
    const place = await ground.makePlace();
    if (place.kind !== "sqlite") throw new Error("not a file");
    const database = await openTestDatabase(place);
    return { file: place.file, database, trials: database.bind(trialStore) };
  };

  test("wakes every listener when another process wrote", async () => {
    const { file, database } = await open();
    // The first read also misses writes from before the writer started.
    expect(await receive(database, "trial")).toBeNull();
    const received = ["trial", "key"].map((channel) => receive(database, channel));
    const commandLine = await openTestDatabase({ kind: "sqlite", file });
    await commandLine.bind(trialStore).createAll([makeTrial("t-1")]);
    expect(await Promise.all(received)).toEqual([null, null]);
    expect(await database.bind(trialStore).count()).toBe(1);
    await commandLine.close();
    await database.close();
  });

  test("reads a cached row again after any write, and otherwise from the cache", async () => {
    const { file, database } = await open();
    const commandLine = await openTestDatabase({ kind: "sqlite", file });
    const [here, there] = [database.bind(keptStore), commandLine.bind(trialStore)];
    expect(await here.find("t-1")).toBeUndefined();
    await there.createAll([makeTrial("t-1")]);
    const first = await here.find("t-1");
    expect(first).toMatchObject({ id: "t-1" });
    expect(await here.find("t-1")).toBe(first);
    // Whoever gets it next must find what was stored.
    expect(Object.isFrozen(first)).toBe(true);
    await database.bind(trialStore).create(makeTrial("t-2"));
    const second = await here.find("t-1");
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
    await there.createAll([makeTrial("t-3")]);
    expect(await here.find("t-1")).not.toBe(second);
    await commandLine.close();
    await database.close();
  });

  test("does not cache a row read before a commit that another read has seen", async () => {
    const { database, trials } = await open();
    const gate = Promise.withResolvers<void>();
    const slowly = async (...args: Parameters<typeof find>) => {
      const found = await find(...args);
      await gate.promise;
      return found;
    };
    const here = database.bind(store("trials", { find, slowly }, {}, ["find", "slowly"]));
    await trials.create(makeTrial("t-1"));
    const before = here.slowly("t-1");
    await trials.overwrite("new");
    expect(await here.find("t-1")).toMatchObject({ text: "new" });
    gate.resolve();
    expect(await before).toMatchObject({ text: "text" });
    expect(await here.slowly("t-1")).toMatchObject({ text: "new" });
    await database.close();
  });

  test("commits in one group the writes that arrived while it was busy", async () => {
    const { database, trials } = await open();
    await trials.fillDisk();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const held = trials.hold(signal);
    while (Atomics.load(signal, 0) === 0) await turn();
    const writes: Promise<boolean>[] = [];
    for (const text of ["small", "x".repeat(1_000_000), "small"]) {
      writes.push(trials.create(makeTrial(`t-${writes.length}`, { text })));
      await turn();
    }
    Atomics.store(signal, 0, 2);
    Atomics.notify(signal, 0);
    await held;
    // Only a group fails as one; written singly, the small ones would fit.
    const settled = await Promise.allSettled(writes);
    expect(settled.map((one) => one.status)).toEqual(["rejected", "rejected", "rejected"]);
    await trials.freeDisk();
    await database.close();
  });

  test("that dies fails waiting writes, accepts no more, and reports a fatal failure", async () => {
    const { database, trials } = await open();
    await trials.explode();
    const waiting = Array.from({ length: 5_000 }, (_, i) => trials.create(makeTrial(`t-${i}`)));
    const settled = await Promise.allSettled(waiting);
    expect(settled.at(-1)!.status).toBe("rejected");
    const { failure, isFatal } = await database.failed;
    expect(isFatal).toBe(true);
    expect((failure as Error).message).toBe("the writer died: error: the thread has a bug");
    expect(await failureOf(trials.create(makeTrial("late")))).toBe(failure as Error);
    // Earlier acknowledged writes are present.
    const kept = settled.filter((one) => one.status === "fulfilled").length;
    expect(await trials.count()).toBeGreaterThanOrEqual(kept);
    await database.close();
  });

  test("that cannot start reports it", async () => {
    const place = { kind: "sqlite" as const, file: (await open()).file };
    const writer = new URL("./no-such-file.ts", import.meta.url);
    const database = await openTestDatabase({ ...place, writer });
    expect((await failureOf(database.probe())).message).toContain("the writer died");
    expect(await database.failed).toMatchObject({ isFatal: true });
    await database.close();
  });

  test("on a full disk fails the whole group, and continues when there is space", async () => {
    const { database, trials } = await open();
    await trials.createAll([makeTrial("before"), makeTrial("before too")]);
    await trials.fillDisk();
    const big = "x".repeat(1_000_000);
    const fillers = [
      () => trials.create(makeTrial("big", { text: big })),
      () => trials.overwrite(big),
    ];
    for (const fill of fillers) {
      const small = ["small", "small too"].map((id) => trials.create(makeTrial(id)));
      const group = await Promise.allSettled([small[0], fill(), small[1]]);
      for (const one of group) {
        expect(one).toMatchObject({
          status: "rejected",
          reason: { cause: { code: "SQLITE_FULL" } },
        });
      }
      expect((await trials.list()).map((trial) => trial.text)).toEqual(["text", "text"]);
    }
    await trials.freeDisk();
    expect(await trials.create(makeTrial("big", { text: big }))).toBe(true);
    expect(await trials.count()).toBe(3);
    await database.close();
  });

  test("tells nobody of writes that a full disk undoes", async () => {
    const { database, trials } = await open();
    const told: (string | null)[] = [];
    database.listen("trial", (id) => void told.push(id));
    await trials.fillDisk();
    const group = await Promise.allSettled([
      trials.createAll([makeTrial("undone")]),
      trials.create(makeTrial("big", { text: "x".repeat(1_000_000) })),
    ]);
    expect(group.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await trials.freeDisk();
    await trials.createAll([makeTrial("done")]);
    // Without an id: somebody wrote.
    expect(told.filter((id) => id !== null)).toEqual(["done"]);
    await database.close();
  });

  test("waits while another process holds the write lock", async () => {
    const { file, database, trials } = await open();
    const holder = await holdWriteLock(file);
    const write = trials.create(makeTrial("t-1"));
    expect(await trials.count()).toBe(0);
    await holder.release();
    expect(await write).toBe(true);
    await database.close();
  });

  test("fails arguments that cannot be cloned, and nothing else", async () => {
    const { database, trials } = await open();
    const bad = makeTrial("t-1", { data: () => "a closure" });
    expect((await failureOf(trials.create(bad))).message).toContain("cloned");
    expect(await trials.create(makeTrial("t-2"))).toBe(true);
    await database.close();
  });
});

/** Waits one turn of the event loop, so that pending requests are sent. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves with the next id published on `channel`. */
function receive(database: TestDatabase, channel: string): Promise<string | null> {
  return new Promise((resolve) => {
    database.listen(channel, resolve);
  });
}
