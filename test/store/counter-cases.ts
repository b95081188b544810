// Cases of the store of shared counters.
import { expect } from "bun:test";
import type { HeldSlots } from "../../src/counters/store.ts";
import type { Case, Stores } from "./cases.ts";

const BEGIN = Date.UTC(2026, 10, 20);
const SERVER = "server-1";
const rule = { counter: "accounts:a", requests_max: 3, windowMs: 60_000, closingMs: 0 };

const HELD: HeldSlots = {
  ...{ term: 3, epoch: 1, service: "search", keep: 0, wanted: 1, max: null, isFair: false },
};

/** Two processes, of which Valkey counts for both in term 2. */
async function countInValkey({ counters, processes }: Stores): Promise<void> {
  for (let n = 0; n < 2; n++) await processes.register(BEGIN);
  await counters.open();
  for (const epoch of [1, 2]) await counters.reach(epoch, 1, SERVER);
  await counters.fill(2);
}

/** Valkey is away, and the database counts in term 3. */
async function countHere(stores: Stores): Promise<void> {
  await countInValkey(stores);
  await stores.counters.lose(2);
  await stores.counters.report(1, 3, { takes: [["accounts:a", 400, 2]], slots: [["search", 2]] });
  await stores.counters.report(2, 3, { takes: [["accounts:b", -5_000, 0]], slots: [] });
}

const place = async ({ counters }: Stores) => (await counters.find())!;

export const counterCases: readonly Case[] = [
  {
    method: "counters.find",
    title: "finds nothing in a new database",
    act: ({ counters }) => counters.find(),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "counters.open",
    title: "lets the database count first",
    act: ({ counters }) => counters.open(),
    async check(_, stores) {
      const first = { term: 1, mode: "database" as const, server: null, epoch: null };
      expect(await place(stores)).toEqual(first);
    },
  },
  {
    method: "counters.open",
    title: "changes nothing later",
    setup: countInValkey,
    act: ({ counters }) => counters.open(),
    async check(_, stores) {
      expect(await place(stores)).toEqual({ term: 2, mode: "valkey", server: SERVER, epoch: 2 });
    },
  },
  {
    method: "counters.reach",
    title: "lets the last process that reaches the same Valkey server fill it",
    setup: async ({ counters, processes }) => {
      for (let n = 0; n < 2; n++) await processes.register(BEGIN);
      await counters.open();
    },
    async act(stores) {
      const modes: string[] = [];
      for (const [epoch, server] of [
        [1, "other"],
        [2, SERVER],
        [1, null],
        [1, SERVER],
      ] as const) {
        await stores.counters.reach(epoch, 1, server);
        modes.push((await place(stores)).mode);
      }
      return modes;
    },
    async check(answer, stores) {
      expect(answer).toEqual(["database", "database", "database", "filling"]);
      expect(await place(stores)).toEqual({ term: 2, mode: "filling", server: SERVER, epoch: 1 });
    },
  },
  {
    method: "counters.fill",
    title: "lets Valkey count, and ignores another term",
    setup: async (stores) => {
      await countHere(stores);
      for (const epoch of [1, 2]) await stores.counters.reach(epoch, 3, SERVER);
    },
    async act(stores) {
      await stores.counters.fill(3);
      const before = await place(stores);
      await stores.counters.fill(4);
      return [before.mode, await place(stores)];
    },
    check: (answer) => expect(answer).toMatchObject(["filling", { mode: "valkey", term: 4 }]),
  },
  {
    method: "counters.lose",
    title: "lets the database go on where a filling has failed",
    setup: async (stores) => {
      await countHere(stores);
      for (const epoch of [1, 2]) await stores.counters.reach(epoch, 3, SERVER);
    },
    act: ({ counters }) => counters.lose(4),
    async check(_, stores) {
      expect(await place(stores)).toMatchObject({ mode: "database", term: 5 });
      expect(await stores.counters.take({ ...rule, term: 5, epoch: 1 })).toBe(0);
    },
  },
  {
    method: "counters.lose",
    title: "begins a term in which nobody decides, once",
    setup: countInValkey,
    act: async ({ counters }) => {
      for (const term of [1, 2, 2]) await counters.lose(term);
      return counters.take({ ...rule, term: 3, epoch: 1 });
    },
    async check(answer, stores) {
      expect(answer).toBeNull();
      expect(await place(stores)).toMatchObject({ term: 3, mode: "gathering" });
    },
  },
  {
    method: "counters.report",
    title: "lets the database count once all have reported, in the place of what they said before",
    setup: async (stores) => {
      await countInValkey(stores);
      await stores.counters.lose(2);
    },
    async act(stores) {
      const { counters } = stores;
      await counters.report(1, 3, { takes: [["accounts:a", 900, 3]], slots: [] });
      const before = (await place(stores)).mode;
      await counters.report(1, 3, { takes: [["accounts:a", 500, 2]], slots: [["search", 2]] });
      await counters.report(2, 3, { takes: [["accounts:a", 500, 1]], slots: [] });
      return [before, (await place(stores)).mode];
    },
    async check(answer, { counters }) {
      expect(answer).toEqual(["gathering", "database"]);
      expect((await counters.listTakes()).map(({ requests }) => requests).toSorted()).toEqual([
        1, 2,
      ]);
    },
  },
  {
    method: "counters.settle",
    title: "waits for a process that ended within the last minute, unless it has said the last",
    setup: async (stores) => {
      const { counters, processes } = stores;
      await countInValkey(stores);
      await counters.report(2, Number.MAX_SAFE_INTEGER, { takes: [], slots: [] });
      await processes.end(2, Date.now());
      await processes.end(await processes.register(BEGIN), Date.now());
      await counters.lose(2);
      await counters.report(1, 3, { takes: [], slots: [] });
    },
    async act(stores) {
      await stores.counters.settle();
      const before = (await place(stores)).mode;
      await stores.counters.report(3, 3, { takes: [], slots: [] });
      return [before, (await place(stores)).mode];
    },
    check: (answer) => expect(answer).toEqual(["gathering", "database"]),
  },
  {
    method: "counters.settle",
    title: "goes on in the database when the process that fills is dead",
    setup: async (stores) => {
      await countHere(stores);
      for (const epoch of [1, 2]) await stores.counters.reach(epoch, 3, SERVER);
    },
    async act(stores) {
      await stores.counters.settle();
      const before = (await place(stores)).mode;
      await stores.processes.end(2, BEGIN);
      await stores.counters.settle();
      return [before, await place(stores)];
    },
    check: (answer) => expect(answer).toMatchObject(["filling", { mode: "database", term: 5 }]),
  },
  {
    method: "counters.take",
    title: "counts requests of all processes, and says when the oldest leaves the window",
    setup: countHere,
    async act({ counters }) {
      const take = (epoch: number) => counters.take({ ...rule, term: 3, epoch });
      return [await take(2), await take(1)];
    },
    check(answer) {
      const [first, second] = answer as [number, number];
      expect(first).toBe(0);
      expect(second).toBeGreaterThan(50_000);
      expect(second).toBeLessThanOrEqual(59_700);
    },
  },
  {
    method: "counters.take",
    title: "closes a counter that is exceeded, and keeps one closed that was",
    setup: countHere,
    async act({ counters }) {
      const take = (counter: string) =>
        counters.take({ ...rule, counter, closingMs: 60_000, requests_max: 2, term: 3, epoch: 1 });
      return [await take("accounts:a"), await take("accounts:a"), await take("accounts:b")];
    },
    check(answer) {
      const [closing, closed, earlier] = answer as [number, number, number];
      expect(closing).toBe(60_000);
      expect([closed > 50_000, closed <= 60_000]).toEqual([true, true]);
      expect([earlier > 0, earlier <= 5_000]).toEqual([true, true]);
    },
  },
  {
    method: "counters.hold",
    title: "sets the slots of a process within the maximum of all that live",
    setup: countHere,
    async act({ counters, processes }) {
      const hold = (epoch: number, keep: number, max: number | null, wanted = keep) =>
        counters.hold({ ...HELD, epoch, keep, wanted, max });
      // Both slots are reported by the first process.
      const answers = [await hold(2, 0, 2, 1), await hold(1, 1, null), await hold(2, 0, 2, 2)];
      await processes.end(1, BEGIN);
      return [...answers, await hold(2, 1, 2, 3), await hold(2, 3, 2)];
    },
    async check(answer, { counters }) {
      expect(answer).toEqual([0, 1, 1, 2, 2]);
      // What is in use counts, also above a maximum that was lowered.
      expect(await counters.listSlots()).toEqual([{ service: "search", epoch: 2, slots: 3 }]);
    },
  },
  {
    method: "counters.hold",
    title: "grants at most the share of a process where it is fair, and nothing in another term",
    setup: countHere,
    async act({ counters }) {
      const hold = (epoch: number, max: number, others: Partial<HeldSlots> = {}) =>
        counters.hold({ ...HELD, service: "m", isFair: true, epoch, max, wanted: 9, ...others });
      const even = [await hold(1, 6), await hold(2, 6), await hold(1, 9, { isFair: false })];
      for (const epoch of [1, 2]) await hold(epoch, 7, { wanted: 0 });
      const odd = [await hold(1, 7), await hold(2, 7)];
      return [even, odd, await hold(1, 6, { term: 2 })];
    },
    check(answer) {
      const [even, [first, second], other] = answer as [number[], [number, number], null];
      expect([even, other]).toEqual([[3, 3, 6], null]);
      // The seventh goes to either, in turns.
      for (const slots of [first, second]) expect([3, 4]).toContain(slots);
      expect(first + second).toBeLessThanOrEqual(7);
    },
  },
  {
    method: "counters.listTakes",
    title: "lists what counts by its age, newest first",
    setup: countHere,
    act: ({ counters }) => counters.listTakes(),
    check(answer) {
      const [first, closing] = answer as { counter: string; age: number; requests: number }[];
      expect(first).toMatchObject({ counter: "accounts:a", requests: 2 });
      expect(first!.age).toBeGreaterThanOrEqual(400);
      expect(closing).toMatchObject({ counter: "accounts:b", requests: 0 });
      expect(closing!.age).toBeLessThan(0);
    },
  },
  {
    method: "counters.listSlots",
    title: "lists the slots of processes that live",
    setup: countHere,
    act: ({ counters }) => counters.listSlots(),
    check: (answer) => expect(answer).toEqual([{ service: "search", epoch: 1, slots: 2 }]),
  },
];
