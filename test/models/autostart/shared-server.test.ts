// Tests a managed server that several processes use: one start, and no stop under the others.
import { afterEach, expect, test } from "bun:test";
import { type Database, openDatabase } from "../../../src/database/index.ts";
import { ManagedServer } from "../../../src/models/autostart/managed-server.ts";
import { managedServerStore } from "../../../src/models/autostart/store.ts";
import { stores } from "../../../src/stores.ts";
import { createManualClock } from "../../support/clock.ts";
import { placeInMemory } from "../../support/memory.ts";
import { NOBODY } from "./bench.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const STAYS = new AbortController().signal;

const databases: Database[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.close();
});

/** Processes that share one server, which is up 20 seconds after its start. */
async function openShared(idleStopMs = 0) {
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database = await openDatabase({ place: await placeInMemory(), stores, clock, onFailure });
  databases.push(database);
  const server = { isHealthy: false, starts: 0, stops: 0 };
  let holder = 0;
  let uses = 0;
  /** Starts that were stored, and ends of leases. */
  const steps: string[] = [];
  const open = (number: number, mayAct = async () => true) => {
    const notes = database.bind(managedServerStore);
    const managed = new ManagedServer({
      ...{ id: "unit-1", name: { upstream: "gpu:8000" }, clock, isShared: true },
      log: { info() {}, warn() {}, error() {} },
      notes: {
        ...notes,
        use(id) {
          uses++;
          return notes.use(id);
        },
        async learn(...row) {
          await notes.learn(...row);
          steps.push("stored");
        },
      },
      process: {
        async withLease(_, work) {
          if (holder !== 0) return false;
          holder = number;
          await work(mayAct);
          steps.push("end");
          holder = 0;
          return true;
        },
      },
      plan: {
        isUp: async () => server.isHealthy,
        async start() {
          server.starts++;
          clock.after(20 * SECOND_MS, () => {
            server.isHealthy = true;
          });
          return null;
        },
        async stop() {
          server.stops++;
          server.isHealthy = false;
          return null;
        },
        ...{ timeoutMs: 10 * MINUTE_MS, idleStopMs, minUpMs: 0 },
      },
    });
    managed.hold(NOBODY);
    return managed;
  };
  /** Sends a request; returns whether it was served. */
  const ask = async (managed: ManagedServer) => (await managed.enter("a-1", STAYS)) === undefined;
  return { clock, server, open, ask, steps, uses: () => uses };
}

test("processes that need a server at once start it once", async () => {
  const { clock, server, open, ask } = await openShared();
  const asked = [1, 2, 3].map((number) => ask(open(number)));
  await clock.advance(30 * SECOND_MS);
  expect(await Promise.all(asked)).toEqual([true, true, true]);
  expect(server.starts).toBe(1);
});

test("a process that has lost its lease meanwhile starts nothing", async () => {
  const { clock, server, open, ask } = await openShared();
  const asked = ask(open(1, async () => false));
  await clock.advance(MINUTE_MS);
  expect([await asked, server.starts]).toEqual([false, 0]);
});

test("a process that has lost its lease uses a server that is up meanwhile", async () => {
  const { clock, server, open, ask } = await openShared();
  const managed = open(1, async () => false);
  await clock.advance(0);
  server.isHealthy = true;
  expect([managed.isUp, await ask(managed), server.starts]).toEqual([false, true, 0]);
});

test("the next process gets the lease once the start is stored", async () => {
  const { clock, open, ask, steps } = await openShared();
  const asked = ask(open(1));
  await clock.advance(30 * SECOND_MS);
  expect([await asked, steps]).toEqual([true, ["stored", "end"]]);
});

test("an idle process stops no server that another one uses", async () => {
  const { clock, server, open, ask } = await openShared(MINUTE_MS);
  const [idle, busy] = [open(1), open(2)];
  const started = Promise.all([ask(idle), ask(busy)]);
  await clock.advance(30 * SECOND_MS);
  expect(await started).toEqual([true, true]);
  idle.leave();
  await clock.advance(10 * MINUTE_MS);
  expect([server.stops, idle.isUp, busy.isUp]).toEqual([0, true, true]);
  busy.leave();
  await clock.advance(3 * MINUTE_MS);
  expect(server.stops).toBe(1);
});

test("a request of a process that had it up starts a server that another one has stopped", async () => {
  const { clock, server, open, ask } = await openShared(MINUTE_MS);
  const [first, second] = [open(1), open(2)];
  const started = Promise.all([ask(first), ask(second)]);
  await clock.advance(30 * SECOND_MS);
  await started;
  for (const one of [first, second]) one.leave();
  await clock.advance(MINUTE_MS + 5 * SECOND_MS);
  while (server.stops === 0) await clock.advance(SECOND_MS);
  const asleep = first.isUp ? second : first;
  const other = first.isUp ? first : second;
  expect([asleep.isUp, other.isUp]).toEqual([false, true]);
  let ups = 0;
  other.hold({
    onUp: () => void ups++,
    onDown() {},
  });
  const asked = Promise.all([ask(other), ask(other)]);
  await clock.advance(30 * SECOND_MS);
  expect([await asked, server.starts, server.stops]).toEqual([[true, true], 2, 1]);
  // It was up when it was held, and was found asleep once for both.
  await clock.advance(MINUTE_MS);
  expect(ups).toBe(2);
});

test("a use that has ended is told no more, and a request is told before it is sent", async () => {
  const { clock, open, ask, uses } = await openShared();
  const managed = open(1);
  const started = ask(managed);
  await clock.advance(30 * SECOND_MS);
  await started;
  managed.leave();
  await clock.advance(5 * SECOND_MS);
  const before = uses();
  await clock.advance(MINUTE_MS);
  expect([uses(), managed.isUp, managed.tryEnter()]).toEqual([before, true, false]);
  expect([await ask(managed), uses()]).toEqual([true, before + 1]);
  expect(managed.tryEnter()).toBe(true);
});

test("a use is told every five seconds, however many requests there are", async () => {
  const { clock, open, ask, uses } = await openShared();
  const managed = open(1);
  const started = ask(managed);
  await clock.advance(30 * SECOND_MS);
  await started;
  const before = uses();
  for (let n = 0; n < 60; n++) {
    for (let times = 0; times < 10; times++) {
      await ask(managed);
      managed.leave();
    }
    await clock.advance(SECOND_MS);
  }
  expect(uses() - before).toBeGreaterThan(8);
  expect(uses() - before).toBeLessThan(16);
});
