// Cases of the store of processes.
import { expect } from "bun:test";
import type { Case } from "./cases.ts";

const BEGIN = Date.UTC(2026, 10, 20);

export const processCases: readonly Case[] = [
  {
    method: "processes.register",
    title: "gives each process the next number",
    setup: ({ processes }) => processes.register(BEGIN),
    act: ({ processes }) => Promise.all([1, 2, 3].map(() => processes.register(BEGIN + 1))),
    async check(answer, { processes }) {
      expect((answer as number[]).toSorted()).toEqual([2, 3, 4]);
      const [first, ...others] = await processes.list();
      expect(first).toEqual({ epoch: 1, beats: 0, started_at: BEGIN, ended_at: null });
      expect(others).toHaveLength(3);
    },
  },
  {
    method: "processes.beat",
    title: "records that a process is alive, and reports when others consider it dead",
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
      expect(answer).toEqual([true, false, false]);
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
      expect(await processes.beat(1)).toBe(false);
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
      expect(await processes.beat(1)).toBe(true);
    },
  },
  {
    method: "processes.list",
    title: "is empty in a new database",
    act: ({ processes }) => processes.list(),
    check: (answer) => expect(answer).toEqual([]),
  },
];
