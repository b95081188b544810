// What the store of sweeps must do, on every engine.
import { expect } from "bun:test";
import type { Case } from "./cases.ts";

const BEGIN = Date.UTC(2026, 10, 20);

export const sweepCases: readonly Case[] = [
  {
    method: "sweeps.find",
    title: "knows of no sweep of a new database",
    act: ({ sweeps }) => sweeps.find(),
    check: (answer) => expect(answer).toEqual({ swept_at: null, witnessed_at: null }),
  },
  {
    method: "sweeps.begin",
    title: "dates what has no date, once",
    act: ({ sweeps }) => sweeps.begin(BEGIN),
    async check(_, { sweeps }) {
      await sweeps.begin(BEGIN + 1);
      expect(await sweeps.find()).toEqual({ swept_at: BEGIN, witnessed_at: BEGIN });
    },
  },
  {
    method: "sweeps.note",
    title: "dates the last sweep, also back where the clock went back",
    setup: ({ sweeps }) => sweeps.begin(BEGIN),
    act: ({ sweeps }) => sweeps.note(BEGIN - 5),
    async check(_, { sweeps }) {
      expect(await sweeps.find()).toEqual({ swept_at: BEGIN - 5, witnessed_at: BEGIN - 5 });
    },
  },
];
