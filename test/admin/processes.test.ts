// Tests how a rotation of the secrets key waits for the processes on the data.
import { afterEach, expect, test } from "bun:test";
import { awaitKeys, createProcessAdmin } from "../../src/admin/processes.ts";
import { type ProcessAbout, processStore } from "../../src/cluster/store.ts";
import { openDatabase } from "../../src/database/index.ts";
import { activityStore } from "../../src/inventory/index.ts";
import { createManualClock } from "../support/clock.ts";
import { placeInMemory } from "../support/memory.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function openWorld(engine: "sqlite" | "postgres" = "postgres") {
  const clock = createManualClock();
  const stores = [processStore, activityStore];
  const opened = await openDatabase({
    ...{ place: await placeInMemory(), stores, clock },
    onFailure(failure) {
      throw failure;
    },
  });
  closing.push(opened.close);
  const processes = opened.bind(processStore);
  const listening = new Set<object>();
  const listen: typeof opened.listen = (...asked) => {
    listening.add(asked);
    const stop = opened.listen(...asked);
    return () => {
      listening.delete(asked);
      stop();
    };
  };
  const database = { ...opened, engine, listen };
  const tell = (epoch: number, key_ids: string | null) =>
    processes.describe(epoch, {
      ...{ address: `m-${epoch}:8080`, pid: 7, version: "1.2.3", schema_number: 41 },
      ...{ settings_hash: null, settings_fault: null, key_ids, reloads_done: 0 },
    } satisfies ProcessAbout);
  for (const epoch of [1, 2, 3]) await processes.register(epoch);
  return {
    clock,
    processes,
    tell,
    listening,
    admin: createProcessAdmin({ database: opened } as never),
    wait: () => awaitKeys({ database, clock }, ["new", "old"]),
  };
}

test("ends as soon as each live process has told of both keys, in any order", async () => {
  const { tell, wait, processes, listening } = await openWorld();
  await tell(1, "new,old");
  await tell(2, "old");
  await tell(3, "");
  const waiting = wait();
  expect(listening.size).toBe(1);
  await tell(2, "old,other,new");
  // One that has ended needs no key.
  await processes.end(3, 9);
  await processes.askAbout();
  expect(await waiting).toEqual([]);
  expect(listening.size).toBe(0);
});

test("a program that cannot tell its keys is not waited for", async () => {
  const { tell, wait } = await openWorld();
  await tell(1, "new,old");
  expect(await wait()).toEqual([]);
});

test("names the processes that have not told so for 15 seconds", async () => {
  const { clock, tell, wait } = await openWorld();
  await tell(1, "new,old");
  await tell(2, "new");
  await tell(3, "newer,old");
  const waiting = wait();
  await clock.advance(15_000);
  expect(Bun.peek.status(waiting)).toBe("pending");
  await clock.advance(1_000);
  expect(await waiting).toEqual(["2 (m-2:8080)", "3 (m-3:8080)"]);
});

test("does not wait on SQLite, where all programs read one file", async () => {
  const { tell, wait } = await openWorld("sqlite");
  await tell(1, "old");
  expect(await wait()).toEqual([]);
});

test("a reload is pending until the process has told that it has read its settings", async () => {
  const { admin, processes } = await openWorld();
  const listPending = (rows: Awaited<ReturnType<typeof admin.list>>) =>
    rows.filter((row) => row.is_reload_pending).map(({ epoch }) => epoch);
  expect(listPending(await admin.list())).toEqual([]);
  expect(listPending(await admin.reload())).toEqual([1, 2, 3]);
  const { reloads_done, ...about } = (await processes.readAbout(2))!;
  await processes.describe(2, { ...about, reloads_done: reloads_done + 1 });
  expect(listPending(await admin.list())).toEqual([1, 3]);
});
