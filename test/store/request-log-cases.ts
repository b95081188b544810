// Cases of the store of the request log.
import { expect } from "bun:test";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import type { GatewayUsage } from "../../src/gateway/request-log/store.ts";
import { makeEntry, NOON, REFUSED } from "../support/request-log.ts";
import type { Case, Stores } from "./cases.ts";

const DAY_MS = 86_400_000;
const add = ({ requestLog }: Stores, entries: LogEntry[], isAgain = false) =>
  requestLog.add(writeEntries(entries), isAgain);
const idsOf = async ({ written }: Stores) => (await written.entries()).map(({ id }) => id);

const FULL = makeEntry("e-1", {
  ...{ usage_estimated: true, waited_ms: 7, first_token_ms: 9, trace_id: "4bf9" },
  ...{ is_stream: true, cost: 2 ** 40, code: "upstream_error" },
});

/** Entries of two days, two accounts, three keys and two models. */
const MANY = [
  makeEntry("e-1"),
  makeEntry("e-2", { model: "stub-2", cost: null }),
  makeEntry("e-3", { at: NOON + DAY_MS, key_id: "k-3", cost: 5 }),
  makeEntry("e-4", REFUSED),
];
const sum = (name: string, requests: number, failed: number, used: Used): GatewayUsage => {
  const [prompt_tokens, completion_tokens, cost, unpriced] = used;
  return { name, requests, failed, prompt_tokens, completion_tokens, cost, unpriced };
};
type Used = [prompt: number, completion: number, cost: number | null, unpriced: number];

export const requestLogCases: Case[] = [
  {
    method: "ledger.add",
    title: "stores entries with and without optional fields, and adds them to their days",
    act: (stores) => add(stores, [FULL, makeEntry("e-2", REFUSED)]),
    async check(_, { written }) {
      expect(await written.entries()).toEqual([FULL, makeEntry("e-2", REFUSED)]);
      const one = { day: "2026-11-20", route: "chat", requests: 1, failed: 1 };
      const unknownCaller = { account_id: "", key_id: "k-2", model: "" };
      const owned = { account_id: "a-1", key_id: "k-1", model: "stub-1" };
      expect(await written.sums()).toEqual([
        {
          ...one,
          ...unknownCaller,
          prompt_tokens: 0,
          completion_tokens: 0,
          cost: null,
          unpriced: 0,
        },
        { ...one, ...owned, prompt_tokens: 10, completion_tokens: 5, cost: 2 ** 40, unpriced: 0 },
      ]);
    },
  },
  {
    method: "ledger.add",
    title: "counts no entry twice when repeated, alone or with others",
    setup: (stores) => add(stores, [makeEntry("e-1"), makeEntry("e-2", REFUSED)]),
    act: (stores) =>
      add(stores, [makeEntry("e-1"), makeEntry("e-2", REFUSED), makeEntry("e-3")], true),
    async check(_, stores) {
      await add(stores, [makeEntry("e-3")], true);
      expect(await idsOf(stores)).toEqual(["e-1", "e-2", "e-3"]);
      expect(await stores.written.sums()).toMatchObject([
        { account_id: "", model: "", requests: 1, failed: 1, cost: null },
        { account_id: "a-1", requests: 2, prompt_tokens: 20, completion_tokens: 10, cost: 40 },
      ]);
    },
  },
  {
    method: "ledger.add",
    title: "adds known costs to unknown ones, in either order",
    async setup(stores) {
      await add(stores, [makeEntry("e-1", { cost: null }), makeEntry("e-2", { key_id: "k-3" })]);
    },
    act: (stores) =>
      add(stores, [makeEntry("e-3"), makeEntry("e-4", { key_id: "k-3", cost: null })]),
    check: async (_, { written }) =>
      expect(await written.sums()).toMatchObject([
        { key_id: "k-1", requests: 2, cost: 20, unpriced: 1 },
        { key_id: "k-3", requests: 2, cost: 20, unpriced: 1 },
      ]),
  },
  {
    method: "ledger.add",
    title: "accepts a full batch of distinct keys",
    act: (stores) =>
      add(
        stores,
        Array.from({ length: 256 }, (_, n) => makeEntry(`e-${n}`, { key_id: `k-${n % 100}` })),
      ),
    async check(_, { written }) {
      expect((await written.count())!.count).toBe(256);
      const sums = await written.sums();
      expect(sums).toHaveLength(100);
      expect(sums.reduce((total, { requests }) => total + requests, 0)).toBe(256);
    },
  },
  {
    method: "ledger.sum",
    title: "sums whole days by day, account, key, model or route",
    setup: (stores) => add(stores, MANY),
    act: ({ requestLog }) => requestLog.sum("day", "2026-11-20", "2026-11-21"),
    async check(answer, { requestLog }) {
      expect(answer).toEqual([
        sum("2026-11-20", 3, 1, [20, 10, 20, 1]),
        sum("2026-11-21", 1, 0, [10, 5, 5, 0]),
      ]);
      expect(await requestLog.sum("account", "2026-11-20", "2026-11-21")).toEqual([
        sum("", 1, 1, [0, 0, null, 0]),
        sum("a-1", 3, 0, [30, 15, 25, 1]),
      ]);
      expect(await requestLog.sum("key", "2026-11-20", "2026-11-20")).toEqual([
        sum("k-1", 2, 0, [20, 10, 20, 1]),
        sum("k-2", 1, 1, [0, 0, null, 0]),
      ]);
      expect(await requestLog.sum("model", "2026-11-21", "2026-11-30")).toEqual([
        sum("stub-1", 1, 0, [10, 5, 5, 0]),
      ]);
      expect(await requestLog.sum("model", "2026-11-22", "2026-11-30")).toEqual([]);
      expect(await requestLog.sum("route", "2026-11-21", "2026-11-30")).toEqual([
        sum("chat", 1, 0, [10, 5, 5, 0]),
      ]);
    },
  },
  {
    method: "ledger.sweep",
    title: "deletes the oldest up to a limit, also without an account, and keeps the sums",
    setup: (stores) =>
      add(
        stores,
        [3, 1, 2, 4].map((n) => {
          const account_id = n === 1 ? null : "a-1";
          return makeEntry(`e-${n}`, { at: NOON + n, account_id });
        }),
      ),
    act: ({ requestLog }) => requestLog.sweep(NOON + 4, 2),
    async check(answer, stores) {
      expect(answer).toBe(2);
      expect(await idsOf(stores)).toEqual(["e-3", "e-4"]);
      expect(await stores.requestLog.sweep(NOON + 4, 2)).toBe(1);
      expect(await stores.requestLog.sweep(NOON + 4, 2)).toBe(0);
      expect(await idsOf(stores)).toEqual(["e-4"]);
      expect(await stores.requestLog.sum("day", "2026-11-20", "2026-11-20")).toMatchObject([
        { requests: 4 },
      ]);
    },
  },
];
