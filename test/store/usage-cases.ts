// Cases of the sums of usage in the store of the request log.
import { expect } from "bun:test";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import {
  type GroupSum,
  SLOT_MS,
  type UsageColumn,
} from "../../src/gateway/request-log/store/usage-sums.ts";
import { makeEntry, makeSum, NOON, REFUSED } from "../support/request-log.ts";
import type { Case, Stores } from "./cases.ts";

const DAY_MS = 86_400_000;
const SLOT = NOON / SLOT_MS;
const SLOTS_A_DAY = DAY_MS / SLOT_MS;
const RUN = { agent_id: "g-1", agent_version: 2 };

const add = ({ requestLog }: Stores, entries: LogEntry[]) =>
  requestLog.add(writeEntries(entries), false);

/** The sum of `requests` entries of `makeEntry`, without the groups that were not asked for. */
function group(requests: number, fields: Partial<GroupSum> = {}): GroupSum {
  const { slot: _, ...one } = makeSum(0, {
    ...{ account_id: "", key_id: "", model: "", route: "" },
    ...{ requests, prompt_tokens: 10 * requests, completion_tokens: 5 * requests },
    ...{ cost: 20 * requests, ...fields },
  });
  return one;
}

/** Entries of two half hours and of another day, two accounts, three keys and two models. */
const MANY = [
  makeEntry("e-1"),
  makeEntry("e-2", { model: "stub-2", cost: null, at: NOON + SLOT_MS }),
  makeEntry("e-3", { at: NOON + DAY_MS, key_id: "k-3", ...RUN }),
  makeEntry("e-4", REFUSED),
];
const REFUSED_SUM = { failed: 1, prompt_tokens: 0, completion_tokens: 0, cost: null };

export const usageCases: Case[] = [
  {
    method: "ledger.sum",
    title: "sums half hours by no column, by one, or by several",
    setup: (stores) => add(stores, MANY),
    act: ({ requestLog }) => requestLog.sum([], { from: SLOT, to: SLOT + SLOTS_A_DAY }, {}),
    async check(answer, { requestLog }) {
      const two = { prompt_tokens: 20, completion_tokens: 10, cost: 20, unpriced: 1 };
      expect(answer).toEqual([group(3, { ...two, failed: 1 })]);
      const sum = async (by: UsageColumn[], from = SLOT, to = SLOT + 2 * SLOTS_A_DAY) => {
        const found = await requestLog.sum(by, { from, to }, {});
        return found.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      };
      expect(await sum(["account"])).toEqual([
        group(1, REFUSED_SUM),
        group(3, { account_id: "a-1", cost: 40, unpriced: 1 }),
      ]);
      expect(await sum(["key"], SLOT, SLOT + 1)).toEqual([
        group(1, { key_id: "k-1" }),
        group(1, { ...REFUSED_SUM, key_id: "k-2" }),
      ]);
      expect(await sum(["agent", "version"], SLOT + 1)).toEqual([
        group(1, { cost: null, unpriced: 1 }),
        group(1, RUN),
      ]);
      expect(await sum(["model", "route"], SLOT + 1, SLOT + 2)).toEqual([
        group(1, { model: "stub-2", route: "chat", cost: null, unpriced: 1 }),
      ]);
      expect(await sum([], SLOT + 2, SLOT + 3)).toEqual([]);
    },
  },
  {
    method: "ledger.findExtent",
    title: "finds the first and the last half hour with sums",
    setup: (stores) => add(stores, MANY),
    act: ({ requestLog }) => requestLog.findExtent(),
    check: (answer) => expect(answer).toEqual({ first: SLOT, last: SLOT + SLOTS_A_DAY }),
  },
  {
    method: "ledger.findExtent",
    title: "finds nothing without sums",
    act: ({ requestLog }) => requestLog.findExtent(),
    check: (answer) => expect(answer).toEqual({ first: null, last: null }),
  },
  {
    method: "ledger.foldDay",
    title: "adds up the half hours of the oldest day at its noon, a day at a time",
    setup: (stores) =>
      add(stores, [
        makeEntry("e-1", { at: NOON - 25 * SLOT_MS }),
        makeEntry("e-2", { at: NOON - 24 * SLOT_MS }),
        makeEntry("e-3", { at: NOON, cost: null }),
        makeEntry("e-4", { at: NOON + 23 * SLOT_MS }),
        makeEntry("e-5", { at: NOON + 23 * SLOT_MS, ...RUN }),
        makeEntry("e-6", { at: NOON + DAY_MS - SLOT_MS }),
      ]),
    act: ({ requestLog }) => requestLog.foldDay(SLOT + 24),
    async check(answer, { requestLog, written }) {
      expect(answer).toBe(1);
      // The next day begins at that slot, so that all of it is kept.
      expect(await requestLog.foldDay(SLOT - 24)).toBe(0);
      expect(await requestLog.foldDay(SLOT + 24)).toBe(3);
      expect(await requestLog.foldDay(SLOT + 24)).toBe(0);
      const three = { requests: 3, prompt_tokens: 30, completion_tokens: 15 };
      expect(await written.sums()).toEqual([
        makeSum(SLOT - SLOTS_A_DAY),
        makeSum(SLOT, { ...three, cost: 40, unpriced: 1 }),
        makeSum(SLOT, RUN),
        makeSum(SLOT + SLOTS_A_DAY - 1),
      ]);
    },
  },
];
