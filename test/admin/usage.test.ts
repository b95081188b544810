// Tests the operator's sums of usage.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store.ts";
import { makeEntry, NOON, REFUSED } from "../support/request-log.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

const DAY_MS = 86_400_000;

let fixture: AdminFixture;
let account_id: string;
let key_id: string;
beforeEach(async () => {
  fixture = await openFixture();
  account_id = (await fixture.admin.accounts.create("acme")).id;
  key_id = (await fixture.admin.keys.create(keyRequest({ name: "laptop" }))).key.id;
});
afterEach(() => fixture.close());

const write = (...entries: LogEntry[]) =>
  fixture.database.bind(requestLogStore).add(writeEntries(entries), false);
const SUMS = {
  ...{ requests: 1, failed: 0, prompt_tokens: 10, completion_tokens: 5 },
  ...{ cost: "0.000020", unpriced: 0 },
};

test("usage by day covers the last thirty days, with totals", async () => {
  await write(
    makeEntry("1", { at: NOON - 30 * DAY_MS }),
    makeEntry("2", { at: NOON - 29 * DAY_MS }),
    makeEntry("3"),
    makeEntry("4", { at: NOON + DAY_MS }),
  );
  expect(await fixture.admin.usage({ by: "day" })).toEqual({
    from: "2026-10-22",
    to: "2026-11-20",
    group_by: "day",
    rows: [
      { date: "2026-10-22", ...SUMS },
      { date: "2026-11-20", ...SUMS },
    ],
    totals: { ...SUMS, requests: 2, prompt_tokens: 20, completion_tokens: 10, cost: "0.000040" },
  });
});

test("usage names accounts, keys and owners, also deleted or missing ones", async () => {
  await write(
    makeEntry("1", { account_id, key_id }),
    makeEntry("2", { account_id: "gone", key_id: "key-gone", cost: null }),
    makeEntry("3", REFUSED),
  );
  const refused = { requests: 1, failed: 1, prompt_tokens: 0, completion_tokens: 0, cost: null };
  const { rows } = await fixture.admin.usage({ by: "account" });
  expect(rows).toHaveLength(3);
  expect(rows).toContainEqual({ account_id, account: "acme", ...SUMS });
  expect(rows).toContainEqual({
    ...{ account_id: "gone", account: null, ...SUMS, cost: null, unpriced: 1 },
  });
  expect(rows).toContainEqual({ account_id: null, account: null, ...refused, unpriced: 0 });
  const by_key = await fixture.admin.usage({ by: "key" });
  expect(by_key.rows).toContainEqual({ key_id, key: "laptop", account: "acme", ...SUMS });
  expect(by_key.rows).toContainEqual({
    ...{ key_id: "k-2", key: null, account: null, ...refused, unpriced: 0 },
  });
  const by_model = await fixture.admin.usage({ by: "model" });
  expect(by_model.rows.map(({ model, requests }) => [model, requests])).toEqual([
    [null, 1],
    ["stub-1", 2],
  ]);
});

test("usage by route separates requests without a model: searches and early refusals", async () => {
  const search: Partial<LogEntry> = {
    ...{ route: "search", model: null, cost: null },
    ...{ prompt_tokens: null, completion_tokens: null },
  };
  await write(
    makeEntry("1"),
    makeEntry("2", { route: "embeddings", model: "bge-m3", completion_tokens: 0, cost: null }),
    makeEntry("3", search),
    makeEntry("4", REFUSED),
  );
  const { rows, group_by } = await fixture.admin.usage({ by: "route" });
  expect(group_by).toBe("route");
  const nothing = { prompt_tokens: 0, completion_tokens: 0, cost: null, unpriced: 0 };
  expect(rows).toEqual([
    { route: "chat", ...SUMS, requests: 2, failed: 1 },
    { route: "embeddings", ...SUMS, completion_tokens: 0, cost: null, unpriced: 1 },
    { route: "search", requests: 1, failed: 0, ...nothing },
  ]);
  const by_model = await fixture.admin.usage({ by: "model" });
  expect(by_model.rows.map(({ model, requests }) => [model, requests])).toEqual([
    [null, 2],
    ["bge-m3", 1],
    ["stub-1", 1],
  ]);
});

test("a range includes both its days, and one alone extends to today or from before", async () => {
  await write(makeEntry("1"), makeEntry("2", { at: NOON - DAY_MS }));
  const count = async (from?: string, to?: string) => {
    const { totals } = await fixture.admin.usage({ by: "model", from, to });
    return totals.requests;
  };
  expect(await count("2026-11-19", "2026-11-20")).toBe(2);
  expect(await count("2026-11-20")).toBe(1);
  expect(await count(undefined, "2026-11-19")).toBe(1);
  expect(await count("2026-11-21", "2026-12-31")).toBe(0);
  await expect(count("2026-11-20", "2026-11-19")).rejects.toThrow("the first day comes first");
});

test("without requests there are no rows, and the cost is unknown", async () => {
  const report = await fixture.admin.usage({ by: "day" });
  expect(report).toMatchObject({ rows: [], totals: { requests: 0, cost: null } });
});
