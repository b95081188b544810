// Cases of the store of the request log.
import { expect } from "bun:test";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import type { IdRange, RequestFilter } from "../../src/gateway/request-log/store/index.ts";
import { SLOT_MS } from "../../src/gateway/request-log/store/usage-sums.ts";
import { makeEntry, makeSum, NOON, REFUSED } from "../support/request-log.ts";
import type { Case, Stores } from "./cases.ts";

const SLOT = NOON / SLOT_MS;
const add = ({ requestLog }: Stores, entries: LogEntry[], isAgain = false) =>
  requestLog.add(writeEntries(entries), isAgain);
const idsOf = async ({ written }: Stores) => (await written.entries()).map(({ id }) => id);

const FULL = makeEntry("e-1", {
  ...{ usage_estimated: true, waited_ms: 7, first_token_ms: 9, trace_id: "4bf9" },
  ...{ gateway_us: 312, in_flight: 31, in_flight_max: 32 },
  ...{ is_stream: true, cost: 2 ** 40, code: "upstream_error", scope: "think" },
  ...{ run_id: "r-1", agent_id: "g-1", agent_version: 3, sent_by_operator: "noura" },
  ...{ max_tokens_asked: 9_000, max_tokens_by: "service", upstream_status: 500 },
  ...{ param: "messages", reason: "it answered with status 500" },
});

const found = (rows: unknown) => (rows as LogEntry[]).map(({ id }) => id);

/** Reads that an operator's search is made of. */
const SEARCH_CASES: Case[] = [
  {
    method: "ledger.find",
    title: "finds by the row's id or the request's, the newest first, up to a limit",
    async setup(stores) {
      const same = { request_id: "same" };
      await add(stores, [makeEntry("e-1", same), makeEntry("e-2"), makeEntry("e-3", same)]);
      await add(stores, [makeEntry("e-4", same)]);
    },
    act: ({ requestLog }) => requestLog.find("same", 2),
    async check(answer, { requestLog }) {
      expect(found(answer)).toEqual(["e-4", "e-3"]);
      expect(await requestLog.find("e-2", 20)).toEqual([makeEntry("e-2")]);
      expect(await requestLog.find("none", 20)).toEqual([]);
    },
  },
  {
    method: "ledger.findOldest",
    title: "finds the end of a range before an id, or nothing where fewer are left",
    setup: (stores) =>
      add(
        stores,
        [1, 2, 3].map((n) => makeEntry(`e-${n}`, { duration_ms: n })),
      ),
    act: ({ requestLog }) => requestLog.findOldest(null, 2),
    async check(answer, { requestLog }) {
      expect(answer).toEqual({ id: "e-2", ended_at: NOON + 2 });
      expect(await requestLog.findOldest("e-3", 2)).toEqual({ id: "e-1", ended_at: NOON + 1 });
      expect(await requestLog.findOldest("e-3", 3)).toBeUndefined();
    },
  },
  {
    method: "ledger.findNewest",
    title: "finds the end of a range after an id and before another",
    setup: (stores) =>
      add(
        stores,
        [1, 2, 3, 4].map((n) => makeEntry(`e-${n}`)),
      ),
    act: ({ requestLog }) => requestLog.findNewest("e-1", "f", 2),
    async check(answer, { requestLog }) {
      expect(answer).toMatchObject({ id: "e-3" });
      expect(await requestLog.findNewest("e-1", "e-3", 9)).toMatchObject({ id: "e-2" });
      expect(await requestLog.findNewest("e-4", "f", 9)).toBeUndefined();
    },
  },
  {
    method: "ledger.list",
    title: "lists a range by account, key, model, status, code, run, arrival and duration",
    setup: (stores) =>
      add(stores, [
        makeEntry("e-1", { account_id: "a-2", key_id: "k-9", at: NOON - 1 }),
        makeEntry("e-2", { model_asked: "other", run_id: "r-1", duration_ms: 13 }),
        makeEntry("e-3", { status: 503, code: "model_offline", model: "stub-2" }),
        makeEntry("e-4", { status: 429, code: "rate_limit_exceeded", model: null }),
      ]),
    act: ({ requestLog }) => requestLog.list({}, {}, 3),
    async check(answer, { requestLog }) {
      expect(found(answer)).toEqual(["e-4", "e-3", "e-2"]);
      const list = async (filter: RequestFilter, range: IdRange = {}) =>
        found(await requestLog.list(filter, range, 9));
      expect(await list({}, { lower: { after: "e-1" }, upper: { before: "e-4" } })).toEqual([
        "e-3",
        "e-2",
      ]);
      expect(await list({}, { lower: { from: "e-2" }, upper: { to: "e-3" } })).toEqual([
        "e-3",
        "e-2",
      ]);
      expect(await list({ account_id: "a-2" })).toEqual(["e-1"]);
      expect(await list({ key_id: "k-9" })).toEqual(["e-1"]);
      expect(await list({ model: "other" })).toEqual(["e-2"]);
      expect(await list({ model: "stub-2" })).toEqual(["e-3"]);
      expect(await list({ statusMin: 500, statusMax: 599 })).toEqual(["e-3"]);
      expect(await list({ statusMin: 429, statusMax: 429 })).toEqual(["e-4"]);
      expect(await list({ code: "rate_limit_exceeded" })).toEqual(["e-4"]);
      expect(await list({ run_id: "r-1" })).toEqual(["e-2"]);
      expect(await list({ since: NOON })).toEqual(["e-4", "e-3", "e-2"]);
      expect(await list({ slowerThanMs: 12 })).toEqual(["e-2"]);
      expect(await list({ idPart: "request of e-1" })).toEqual(["e-1"]);
      expect(await list({ idPart: "f e-3" })).toEqual(["e-3"]);
      expect(await list({ idPart: "quest of" })).toEqual([]);
      expect(await list({ account_id: "a-1", statusMin: 400, statusMax: 499 })).toEqual(["e-4"]);
    },
  },
];

const timeCases: Case[] = [
  {
    method: "ledger.listTimes",
    title: "lists times of the newest requests after an id, up to a limit",
    setup: ({ requestLog }) =>
      requestLog.add(
        writeEntries([
          makeEntry("e-1"),
          makeEntry("e-2", { first_token_ms: 7, waited_ms: 2, duration_ms: 30 }),
          makeEntry("e-3", { replica: null }),
        ]),
        false,
      ),
    act: ({ requestLog }) => requestLog.listTimes("e-1", 9),
    async check(answer, { requestLog }) {
      const times = {
        ...{ route: "chat", code: null, model: "stub-1", completion_tokens: 5 },
        ...{ first_token_ms: null, waited_ms: 0 },
      };
      expect(answer).toEqual([
        { ...times, duration_ms: 12, replica: null, ended_at: NOON + 12 },
        {
          ...{ ...times, duration_ms: 30, replica: "10.0.0.5:8000", ended_at: NOON + 30 },
          ...{ first_token_ms: 7, waited_ms: 2 },
        },
      ]);
      expect(await requestLog.listTimes("", 1)).toHaveLength(1);
    },
  },
];

export const requestLogCases: Case[] = [
  ...timeCases,
  ...SEARCH_CASES,
  {
    method: "ledger.add",
    title: "stores entries with and without optional fields, and adds them to their half hours",
    act: (stores) => add(stores, [FULL, makeEntry("e-2", REFUSED)]),
    async check(_, { written }) {
      expect(await written.entries()).toEqual([FULL, makeEntry("e-2", REFUSED)]);
      const refused = { account_id: "", key_id: "k-2", model: "", cost: null };
      const nothing = { prompt_tokens: 0, completion_tokens: 0 };
      const estimate = { estimated_prompt_tokens: 10, estimated_completion_tokens: 5 };
      expect(await written.sums()).toEqual([
        makeSum(SLOT, { ...refused, ...nothing, failed: 1 }),
        makeSum(SLOT, {
          ...{ agent_id: "g-1", agent_version: 3, failed: 1, cost: 2 ** 40 },
          ...{ estimated: 1, ...estimate, estimated_cost: 2 ** 40 },
        }),
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
      expect(await stores.requestLog.sum([], { from: SLOT, to: SLOT + 1 }, {})).toMatchObject([
        { requests: 4 },
      ]);
    },
  },
];
