// Cases of the store of holds.
import { expect } from "bun:test";
import type { HoldRow } from "../../src/access/index.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);
const account: HoldRow = {
  kind: "account",
  id: "a-1",
  account_id: "a-1",
  reason: "unpaid",
  since: NOW,
};
const agent: HoldRow = {
  kind: "agent",
  id: "g-1",
  account_id: "a-1",
  reason: null,
  since: NOW + 1,
};
const holdBoth = async ({ holds }: Stores) => {
  await holds.hold(agent);
  await holds.hold(account);
};

export const holdCases: Case[] = [
  {
    method: "holds.hold",
    title: "stores holds of each kind, with and without a reason",
    act: ({ holds }) => holds.hold(account),
    async check(answer, { holds }) {
      expect(answer).toEqual(account);
      expect(await holds.hold({ ...agent, id: "a-1" })).toEqual({ ...agent, id: "a-1" });
      expect(await holds.list()).toEqual([account, { ...agent, id: "a-1" }]);
    },
  },
  {
    method: "holds.hold",
    title: "changes only the reason when repeated",
    setup: ({ holds }) => holds.hold(account),
    act: ({ holds }) => holds.hold({ ...account, reason: "abuse", since: NOW + 9 }),
    async check(answer, { holds }) {
      expect(answer).toEqual({ ...account, reason: "abuse" });
      await holds.hold({ ...account, reason: null, since: NOW + 10 });
      expect(await holds.list()).toEqual([{ ...account, reason: null }]);
    },
  },
  {
    method: "holds.release",
    title: "ends a hold, and keeps the one of the other kind",
    async setup({ holds }) {
      await holds.hold({ ...agent, id: "a-1" });
      await holds.hold(account);
    },
    act: ({ holds }) => holds.release("account", "a-1"),
    async check(answer, { holds }) {
      expect(answer).toBe(true);
      expect(await holds.list()).toEqual([{ ...agent, id: "a-1" }]);
      expect(await holds.release("account", "a-1")).toBe(false);
    },
  },
  {
    method: "holds.find",
    title: "finds by kind and id",
    setup: holdBoth,
    act: ({ holds }) => holds.find("agent", "g-1"),
    async check(answer, { holds }) {
      expect(answer).toEqual(agent);
      expect(await holds.find("account", "g-1")).toBeUndefined();
      expect(await holds.find("agent", "a-1")).toBeUndefined();
    },
  },
  {
    method: "holds.find",
    title: "tells other statements which hold blocks an agent's runs",
    setup: holdBoth,
    act: ({ held }) => held.both("g-1", "a-1"),
    async check(answer, { held, holds }) {
      expect(answer).toEqual({ agent, account });
      expect(await held.both("g-2", "a-1")).toEqual({ agent: undefined, account });
      expect(await held.both("g-1", "a-2")).toEqual({ agent, account: undefined });
      // An id of the other kind is unknown.
      expect(await held.both("a-1", "g-1")).toEqual({ agent: undefined, account: undefined });
      const free = async (agent_id: string, account_id: string) =>
        [agent_id, account_id, await held.isFree(agent_id, account_id)].join(" ");
      expect(await free("g-1", "a-1")).toBe("g-1 a-1 false");
      expect(await free("g-2", "a-1")).toBe("g-2 a-1 false");
      expect(await free("g-1", "a-2")).toBe("g-1 a-2 false");
      expect(await free("g-2", "a-2")).toBe("g-2 a-2 true");
      expect(await free("a-1", "g-1")).toBe("a-1 g-1 true");
      await holds.release("account", "a-1");
      expect(await free("g-2", "a-1")).toBe("g-2 a-1 true");
    },
  },
  {
    method: "holds.list",
    title: "lists accounts, then agents, oldest first, and by id where they are as old",
    async setup({ holds }) {
      for (const hold of [...LISTED].reverse()) await holds.hold(hold);
    },
    act: ({ holds }) => holds.list(),
    check: (answer) => expect(answer).toEqual(LISTED),
  },
];

/** Neither ids nor times alone have this order. */
const LISTED: HoldRow[] = [
  { ...account, id: "z-1", since: NOW + 9 },
  { ...agent, id: "g-3", since: NOW + 1 },
  { ...agent, id: "g-1", since: NOW + 2 },
  { ...agent, id: "g-2", since: NOW + 2 },
];
