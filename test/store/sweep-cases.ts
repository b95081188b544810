// Cases of the store of sweeps.
import { expect } from "bun:test";
import type { Case } from "./cases.ts";

const BEGIN = Date.UTC(2026, 10, 20);

export const sweepCases: readonly Case[] = [
  {
    method: "sweeps.find",
    title: "returns no sweep of a new database",
    act: ({ sweeps }) => sweeps.find(),
    check: (answer) => expect(answer).toEqual({ swept_at: null, witnessed_at: null }),
  },
  {
    method: "sweeps.begin",
    title: "sets the time of the first sweep once",
    act: ({ sweeps }) => sweeps.begin(BEGIN),
    async check(_, { sweeps }) {
      await sweeps.begin(BEGIN + 1);
      expect(await sweeps.find()).toEqual({ swept_at: BEGIN, witnessed_at: BEGIN });
    },
  },
  {
    method: "sweeps.note",
    title: "stores the time of the last sweep, also an earlier one after the clock went back",
    setup: ({ sweeps }) => sweeps.begin(BEGIN),
    act: ({ sweeps }) => sweeps.note(BEGIN - 5),
    async check(_, { sweeps }) {
      expect(await sweeps.find()).toEqual({ swept_at: BEGIN - 5, witnessed_at: BEGIN - 5 });
    },
  },
];
