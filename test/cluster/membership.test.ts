// Tests what a process tells the others of itself, and what it does when it is asked.
import { afterEach, describe, expect, test } from "bun:test";
import { Membership } from "../../src/cluster/membership.ts";
import type { Claimant } from "../../src/cluster/process.ts";
import { processStore } from "../../src/cluster/store.ts";
import { type Database, openDatabase } from "../../src/database/index.ts";
import { createManualClock } from "../support/clock.ts";
import { placeInMemory } from "../support/memory.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openStore() {
  const clock = createManualClock();
  const place = await placeInMemory();
  const database = await openDatabase({
    ...{ place, stores: [processStore], clock },
    onFailure(failure) {
      throw failure;
    },
  });
  closing.push(database.close);
  return { clock, database, store: database.bind(processStore) };
}

const ABOUT = {
  ...{ address: "one:8080", pid: 7, version: "1.2.3", schema_number: 41 },
  ...{ settings_hash: "abc", settings_fault: null as string | null, key_ids: "k-1" },
};

/** A process with its epoch; `held` is what it has claimed. */
async function join({ clock, database }: Awaited<ReturnType<typeof openStore>>) {
  const store = database.bind(processStore);
  const claimants: Claimant[] = [];
  const process = {
    epoch: await store.register(0),
    isSkewed: false,
    join: (claimant: Claimant) => void claimants.push(claimant),
  };
  const events: string[] = [];
  const about = { ...ABOUT };
  const state = { held: 0, pausing: Promise.resolve(), reloading: Promise.resolve() };
  const member = new Membership({
    ...{ process, clock, log: { info() {}, error: console.error } as never },
    database: database as Database,
    about: () => about,
    async reload() {
      events.push("reloads");
      await state.reloading;
    },
    pause() {
      events.push("pauses");
      return state.pausing;
    },
    resume: () => void events.push("resumes"),
    countHeld: async () => state.held,
  });
  member.start();
  closing.push(() => member.stop());
  /** A heartbeat, and all that follows from it. */
  const beat = async () => {
    for (const claimant of claimants) claimant.onHeartbeat();
    await clock.advance(0);
  };
  await beat();
  return { process, member, events, about, state, beat };
}

describe("a process among others", () => {
  test("tells of itself at its start, and again when something has changed", async () => {
    const world = await openStore();
    const { process, about, beat } = await join(world);
    const { readAbout } = world.store;
    expect(await readAbout(process.epoch)).toEqual({ ...ABOUT, reloads_done: 0 });
    about.settings_fault = "wadi.toml:1:2: no";
    about.key_ids = "k-2,k-1";
    await beat();
    expect(await readAbout(process.epoch)).toEqual({ ...about, reloads_done: 0 });
  });

  test("tells of itself anew after others declared it dead, and drains on", async () => {
    const world = await openStore();
    const { process, member, beat, events, state } = await join(world);
    state.held = 1;
    await world.store.drain(process.epoch);
    await world.clock.advance(0);
    await world.store.end(process.epoch, 0);
    await beat();
    process.epoch = await world.store.register(0);
    await beat();
    expect(await world.store.readAbout(process.epoch)).toMatchObject(ABOUT);
    expect(await world.store.readOrders(process.epoch)).toMatchObject({ state: "draining" });
    expect(events).toEqual(["pauses"]);
    expect(member.isDraining).toBe(true);
  });

  test("says that it has read its settings again when it has", async () => {
    const world = await openStore();
    const { process, state } = await join(world);
    const { promise, resolve } = Promise.withResolvers<void>();
    state.reloading = promise;
    const readDone = async () => (await world.store.readAbout(process.epoch))!.reloads_done;
    await world.store.askReload();
    await world.clock.advance(0);
    expect(await readDone()).toBe(0);
    resolve();
    await world.clock.advance(0);
    expect(await readDone()).toBe(1);
  });

  test("knows whether the settings of another live process differ", async () => {
    const world = await openStore();
    const one = await join(world);
    const two = await join(world);
    expect([one, two].map(({ member }) => member.doSettingsDiffer)).toEqual([false, false]);
    two.about.settings_hash = "other";
    await two.beat();
    expect([one, two].map(({ member }) => member.doSettingsDiffer)).toEqual([true, true]);
    await world.store.end(two.process.epoch, 0);
    await one.beat();
    expect(one.member.doSettingsDiffer).toBe(false);
  });

  test("reads its settings again when all are asked, once each time", async () => {
    const world = await openStore();
    const members = [await join(world), await join(world)];
    await world.store.askReload();
    await world.clock.advance(0);
    for (const { beat } of members) await beat();
    expect(members.map(({ events }) => events)).toEqual([["reloads"], ["reloads"]]);
    expect(await world.store.readAbout(2)).toEqual({ ...ABOUT, reloads_done: 1 });
    await world.store.askReload();
    await world.clock.advance(0);
    expect(members.map(({ events }) => events.length)).toEqual([2, 2]);
  });
});

describe("a process that is drained", () => {
  test("begins no more work, and has drained once it holds nothing", async () => {
    const world = await openStore();
    const { process, member, beat, events, state } = await join(world);
    const other = await join(world);
    const pausing = Promise.withResolvers<void>();
    Object.assign(state, { held: 2, pausing: pausing.promise });
    const readState = async () => (await world.store.readOrders(process.epoch))!.state;
    await world.store.drain(process.epoch);
    await world.clock.advance(0);
    expect(events).toEqual(["pauses"]);
    expect(member.isDraining).toBe(true);
    state.held = 0;
    await beat();
    // Its work may still begin.
    expect(await readState()).toBe("draining");
    state.held = 1;
    pausing.resolve();
    await beat();
    expect(await readState()).toBe("draining");
    state.held = 0;
    await beat();
    expect(await readState()).toBe("drained");
    await beat();
    expect(events).toEqual(["pauses"]);
    expect([other.events, other.member.isDraining]).toEqual([[], false]);
  });

  test("still reads its settings again", async () => {
    const world = await openStore();
    const { process, events } = await join(world);
    await world.store.drain(process.epoch);
    await world.clock.advance(0);
    await world.store.askReload();
    await world.clock.advance(0);
    expect(events).toEqual(["pauses", "reloads"]);
  });

  test("serves again when the drain is undone, before its end or after it", async () => {
    const world = await openStore();
    const { process, member, beat, events, state } = await join(world);
    const pausing = Promise.withResolvers<void>();
    state.pausing = pausing.promise;
    const ask = async (order: "drain" | "undrain") => {
      await world.store[order](process.epoch);
      await world.clock.advance(0);
    };
    const readState = async () => (await world.store.readOrders(process.epoch))!.state;
    await ask("drain");
    await ask("undrain");
    expect([events.splice(0), member.isDraining]).toEqual([["pauses", "resumes"], false]);
    // The pause of a drain that was undone says nothing of the next one.
    state.pausing = new Promise(() => {});
    await ask("drain");
    pausing.resolve();
    await beat();
    expect(await readState()).toBe("draining");
    await ask("undrain");
    state.pausing = Promise.resolve();
    await ask("drain");
    await beat();
    expect(await readState()).toBe("drained");
    events.length = 0;
    await ask("undrain");
    await beat();
    expect([events, member.isDraining, await readState()]).toEqual([["resumes"], false, null]);
    // The same holds for one that was over.
    state.pausing = new Promise(() => {});
    await ask("drain");
    await beat();
    expect(await readState()).toBe("draining");
  });

  test("a process whose clock is wrong takes no work until it is right, and tells so", async () => {
    const world = await openStore();
    const { process, beat, events } = await join(world);
    const readState = async () => (await world.store.readOrders(process.epoch))!.state;
    process.isSkewed = true;
    await beat();
    await beat();
    expect([events.splice(0), await readState()]).toEqual([["pauses"], "skewed"]);
    // Others take it for dead: its clock is still the only cause.
    process.epoch = await world.store.register(0);
    process.isSkewed = false;
    await beat();
    expect([events.splice(0), await readState()]).toEqual([["resumes"], null]);
    process.isSkewed = true;
    await beat();
    await world.store.drain(process.epoch);
    process.isSkewed = false;
    await beat();
    await beat();
    expect([events, await readState()]).toEqual([["pauses"], "drained"]);
  });
});
