// Cases of the store of processes.
import { expect } from "bun:test";
import type { Case } from "./cases.ts";

const BEGIN = Date.UTC(2026, 10, 20);

const ABOUT = {
  ...{ address: "one:8080", pid: 7, version: "1.2.3", schema_number: 41 },
  ...{ settings_hash: "abc", settings_fault: "wadi.toml:1:2: no", key_ids: "k-2,k-1" },
  reloads_done: 3,
};
/** A process that has told nothing yet, as those of older programs. */
const SILENT = {
  ...{ address: null, pid: null, version: null, schema_number: null, settings_hash: null },
  ...{ settings_fault: null, key_ids: null, reloads_done: 0 },
};

export const processCases: readonly Case[] = [
  {
    method: "processes.register",
    title: "gives each process the next number",
    setup: ({ processes }) => processes.register(BEGIN),
    act: ({ processes }) => Promise.all([1, 2, 3].map(() => processes.register(BEGIN + 1))),
    async check(answer, { processes }) {
      expect((answer as number[]).toSorted()).toEqual([2, 3, 4]);
      const [first, ...others] = await processes.list();
      expect(first).toEqual({ epoch: 1, beats: 0, started_at: BEGIN, ended_at: null, state: null });
      expect(others).toHaveLength(3);
    },
  },
  {
    method: "processes.beat",
    title: "records that a process is alive with the database's time, or that it is dead",
    setup: async ({ processes }) => {
      await processes.register(BEGIN);
      await processes.register(BEGIN);
      await processes.end(2, BEGIN);
    },
    act: async ({ processes }) => [
      await processes.beat(1),
      await processes.beat(2),
      await processes.beat(3),
    ],
    async check(answer, { processes }) {
      const [at, ...others] = answer as (number | null)[];
      expect(others).toEqual([null, null]);
      // The clocks of this machine and of the database's may differ.
      expect(Math.abs(at! - Date.now())).toBeLessThan(60_000);
      expect(await processes.list()).toMatchObject([{ epoch: 1, beats: 1 }]);
    },
  },
  {
    method: "processes.end",
    title: "removes a process from the list for good",
    setup: ({ processes }) => processes.register(BEGIN),
    act: ({ processes }) => processes.end(1, BEGIN + 1),
    async check(_, { processes }) {
      expect(await processes.list()).toEqual([]);
      expect(await processes.beat(1)).toBeNull();
      // An ended process's number is never reused.
      expect(await processes.register(BEGIN + 2)).toBe(2);
    },
  },
  {
    method: "processes.endSilent",
    title: "ends a process that was silent since the given heartbeat",
    setup: async ({ processes }) => {
      await processes.register(BEGIN);
      await processes.beat(1);
    },
    act: ({ processes }) => processes.endSilent(1, 1, BEGIN + 1),
    async check(answer, { processes }) {
      expect(answer).toBe(true);
      expect(await processes.list()).toEqual([]);
      expect(await processes.endSilent(1, 1, BEGIN + 2)).toBe(false);
    },
  },
  {
    method: "processes.endSilent",
    title: "loses against a heartbeat in between",
    setup: async ({ processes }) => {
      await processes.register(BEGIN);
      await processes.beat(1);
    },
    act: ({ processes }) => processes.endSilent(1, 0, BEGIN + 1),
    async check(answer, { processes }) {
      expect(answer).toBe(false);
      expect(await processes.beat(1)).toBeNumber();
    },
  },
  {
    method: "processes.takeLease",
    title: "gives a lease to one live process at a time, and to the same one again",
    setup: async ({ processes }) => {
      for (const _ of [1, 2, 3]) await processes.register(BEGIN);
      await processes.end(3, BEGIN);
    },
    act: ({ processes }) => processes.takeLease("sweeps", 1),
    async check(answer, { processes }) {
      expect(answer).toBe(true);
      expect(await processes.takeLease("sweeps", 2)).toBe(false);
      expect(await processes.takeLease("sweeps", 1)).toBe(true);
      expect(await processes.takeLease("other", 2)).toBe(true);
      // A dead process gets none.
      expect(await processes.takeLease("third", 3)).toBe(false);
    },
  },
  {
    method: "processes.takeLease",
    title: "takes the lease of a dead process",
    setup: async ({ processes }) => {
      for (const _ of [1, 2]) await processes.register(BEGIN);
      await processes.takeLease("sweeps", 1);
      await processes.end(1, BEGIN);
    },
    act: ({ processes }) => processes.takeLease("sweeps", 2),
    check: (answer) => expect(answer).toBe(true),
  },
  {
    method: "processes.takeLease",
    title: "gives it to one of two that ask at once",
    setup: async ({ processes }) => {
      for (const _ of [1, 2]) await processes.register(BEGIN);
    },
    act: ({ processes }) => Promise.all([1, 2].map((one) => processes.takeLease("sweeps", one))),
    check: (answer) => expect((answer as boolean[]).toSorted()).toEqual([false, true]),
  },
  {
    method: "processes.endLease",
    title: "gives a lease back, unless another process has it",
    setup: async ({ processes }) => {
      for (const _ of [1, 2]) await processes.register(BEGIN);
      await processes.takeLease("sweeps", 1);
    },
    act: ({ processes }) => processes.endLease("sweeps", 1),
    async check(_, { processes }) {
      expect(await processes.takeLease("sweeps", 2)).toBe(true);
      await processes.endLease("sweeps", 1);
      expect(await processes.takeLease("sweeps", 1)).toBe(false);
    },
  },
  {
    method: "processes.describe",
    title: "stores what a process tells of itself, and nothing of the others",
    async setup({ processes }) {
      for (let n = 0; n < 3; n++) await processes.register(BEGIN);
      await processes.describe(3, { ...ABOUT, settings_hash: "other" });
    },
    act: ({ processes }) => processes.describe(1, ABOUT),
    async check(_, { processes }) {
      expect(await processes.readAbout(1)).toEqual(ABOUT);
      expect(await processes.readAbout(2)).toEqual(SILENT);
    },
  },
  {
    method: "processes.readAbout",
    title: "finds nothing for an unknown process",
    act: ({ processes }) => processes.readAbout(1),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "processes.readOrders",
    title: "counts live processes with other settings, of those that have told theirs",
    async setup({ processes }) {
      for (let n = 0; n < 5; n++) await processes.register(BEGIN);
      await processes.describe(1, ABOUT);
      await processes.describe(2, ABOUT);
      await processes.describe(3, { ...ABOUT, settings_hash: "other" });
      await processes.describe(4, { ...ABOUT, settings_hash: "other" });
      await processes.end(4, BEGIN);
    },
    act: async ({ processes }) =>
      Promise.all([1, 2, 3, 4, 5].map((epoch) => processes.readOrders(epoch))),
    check: (answer) =>
      expect(answer).toEqual([
        { state: null, reloads_asked: 0, differing: 1 },
        { state: null, reloads_asked: 0, differing: 1 },
        { state: null, reloads_asked: 0, differing: 2 },
        undefined,
        { state: null, reloads_asked: 0, differing: 0 },
      ]),
  },
  {
    method: "processes.drain",
    title: "asks one live process, and leaves one that has drained as it is",
    async setup({ processes }) {
      for (let n = 0; n < 3; n++) await processes.register(BEGIN);
      await processes.drain(2);
      await processes.endDrain(2);
      await processes.end(3, BEGIN);
    },
    act: async ({ processes }) => [
      await processes.drain(1),
      await processes.drain(2),
      await processes.drain(3),
      await processes.drain(4),
    ],
    async check(answer, { processes }) {
      expect(answer).toEqual([true, true, false, false]);
      expect(await processes.readOrders(1)).toMatchObject({ state: "draining" });
      expect(await processes.readOrders(2)).toMatchObject({ state: "drained" });
    },
  },
  {
    method: "processes.undrain",
    title: "lets a live process serve again",
    async setup({ processes }) {
      for (let n = 0; n < 3; n++) await processes.register(BEGIN);
      for (const epoch of [1, 2, 3]) await processes.drain(epoch);
      await processes.endDrain(1);
      await processes.end(3, BEGIN);
    },
    act: async ({ processes }) => [
      await processes.undrain(1),
      await processes.undrain(2),
      await processes.undrain(3),
    ],
    async check(answer, { processes }) {
      expect(answer).toEqual([true, true, false]);
      expect((await processes.list()).map(({ state }) => state)).toEqual([null, null]);
    },
  },
  {
    method: "processes.noteSkew",
    title: "marks a process whose clock is wrong, and leaves an order as it is",
    async setup({ processes }) {
      for (let n = 0; n < 3; n++) await processes.register(BEGIN);
      await processes.drain(2);
      await processes.noteSkew(3, true);
    },
    async act({ processes }) {
      for (const epoch of [1, 2]) await processes.noteSkew(epoch, true);
      await processes.noteSkew(3, false);
    },
    async check(_, { processes }) {
      const states = (await processes.list()).map(({ state }) => state);
      expect(states).toEqual(["skewed", "draining", null]);
      // An order counts for more than the clock.
      await processes.drain(1);
      expect(await processes.readOrders(1)).toMatchObject({ state: "draining" });
    },
  },
  {
    method: "processes.endDrain",
    title: "marks the process that has handed over all",
    async setup({ processes }) {
      for (let n = 0; n < 3; n++) await processes.register(BEGIN);
      for (const epoch of [1, 2]) await processes.drain(epoch);
    },
    async act({ processes }) {
      for (const epoch of [1, 3]) await processes.endDrain(epoch);
    },
    async check(_, { processes }) {
      expect(await processes.readOrders(1)).toMatchObject({ state: "drained" });
      expect(await processes.readOrders(2)).toMatchObject({ state: "draining" });
      // One that serves again meanwhile.
      expect(await processes.readOrders(3)).toMatchObject({ state: null });
    },
  },
  {
    method: "processes.askReload",
    title: "asks every live process once more",
    async setup({ processes }) {
      for (let n = 0; n < 2; n++) await processes.register(BEGIN);
      await processes.askReload();
      await processes.register(BEGIN);
    },
    act: ({ processes }) => processes.askReload(),
    async check(_, { processes }) {
      const asked = await Promise.all([1, 2, 3].map((epoch) => processes.readOrders(epoch)));
      expect(asked.map((one) => one!.reloads_asked)).toEqual([2, 2, 1]);
    },
  },
  {
    method: "processes.askAbout",
    title: "changes nothing, and wakes all processes",
    setup: ({ processes }) => processes.register(BEGIN),
    act: ({ processes }) => processes.askAbout(),
    async check(_, { processes }) {
      expect(await processes.readAbout(1)).toEqual(SILENT);
    },
  },
  {
    method: "processes.list",
    title: "is empty in a new database",
    act: ({ processes }) => processes.list(),
    check: (answer) => expect(answer).toEqual([]),
  },
];
