// Tests the operator's sums of usage.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
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
const EXACT = { estimated: 0, estimated_prompt_tokens: 0, estimated_completion_tokens: 0 };
const SUMS = {
  ...{ requests: 1, failed: 0, left: 0, prompt_tokens: 10, completion_tokens: 5, ...EXACT },
  ...{ cost: "0.000020", estimated_cost: "0.000000", unpriced: 0, unpriced_estimated: 0 },
};
const UNKNOWN = { cost: null, estimated_cost: null };
const UTC = { zone: "UTC", currency: "SAR" };

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
    ...UTC,
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
  const refused = {
    ...SUMS,
    ...{ requests: 1, failed: 1, prompt_tokens: 0, completion_tokens: 0, ...UNKNOWN },
  };
  const { rows } = await fixture.admin.usage({ by: "account" });
  expect(rows).toHaveLength(3);
  expect(rows).toContainEqual({ account_id, account: "acme", ...SUMS });
  expect(rows).toContainEqual({
    ...{ account_id: "gone", account: null, ...SUMS, ...UNKNOWN, unpriced: 1 },
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
  const nothing = { ...SUMS, prompt_tokens: 0, completion_tokens: 0, ...UNKNOWN };
  expect(rows).toEqual([
    { route: "chat", ...SUMS, requests: 2, failed: 1 },
    { route: "embeddings", ...SUMS, completion_tokens: 0, ...UNKNOWN, unpriced: 1 },
    { route: "search", ...nothing },
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

test("callers who left are a column of their own, and estimates are told apart", async () => {
  const left = { status: 499, code: "client_closed_request", usage_estimated: true };
  await write(makeEntry("1"), makeEntry("2", left), makeEntry("3", { cost: null }));
  const { totals } = await fixture.admin.usage({ by: "day" });
  expect(totals).toEqual({
    ...{ requests: 3, failed: 0, left: 1, prompt_tokens: 30, completion_tokens: 15 },
    ...{ estimated: 1, estimated_prompt_tokens: 10, estimated_completion_tokens: 5 },
    ...{ cost: "0.000040", estimated_cost: "0.000020", unpriced: 1, unpriced_estimated: 0 },
  });
});

test("two groupings name each row by both", async () => {
  await write(
    makeEntry("1", { account_id, key_id }),
    makeEntry("2", { account_id, key_id, model: "stub-2", at: NOON - DAY_MS }),
    makeEntry("3", { account_id, key_id, model: "stub-2" }),
  );
  const acme = { account_id, account: "acme" };
  const by_model = await fixture.admin.usage({ by: "account,model" });
  expect(by_model.group_by).toBe("account,model");
  expect(by_model.rows).toMatchObject([
    { ...acme, model: "stub-1", requests: 1 },
    { ...acme, model: "stub-2", requests: 2 },
  ]);
  const by_day = await fixture.admin.usage({ by: "model, day" });
  expect(by_day.rows).toMatchObject([
    { model: "stub-2", date: "2026-11-19", requests: 1 },
    { model: "stub-1", date: "2026-11-20", requests: 1 },
    { model: "stub-2", date: "2026-11-20", requests: 1 },
  ]);
});

test("rounds of runs are summed by agent and version", async () => {
  const run = { run_id: "r-1", agent_id: "gone" };
  await write(
    makeEntry("1"),
    makeEntry("2", { ...run, agent_version: 9 }),
    makeEntry("3", { ...run, agent_version: 10 }),
    makeEntry("4", { ...run, agent_version: 10, route: "search" }),
  );
  const by_agent = await fixture.admin.usage({ by: "agent" });
  expect(by_agent.rows).toMatchObject([
    { agent_id: null, agent: null, requests: 1 },
    { agent_id: "gone", agent: null, requests: 3 },
  ]);
  const by_version = await fixture.admin.usage({ by: "agent,version" });
  expect(by_version.rows).toMatchObject([
    { agent_id: null, version: null, requests: 1 },
    { agent_id: "gone", version: 9, requests: 1 },
    { agent_id: "gone", version: 10, requests: 2 },
  ]);
});

test("a month has all its days", async () => {
  await write(makeEntry("1"));
  const of = async (month: string) => {
    const { from, to, totals } = await fixture.admin.usage({ by: "day", month });
    return [from, to, totals.requests];
  };
  expect(await of("2026-11")).toEqual(["2026-11-01", "2026-11-30", 1]);
  expect(await of("2028-02")).toEqual(["2028-02-01", "2028-02-29", 0]);
  expect(await of("2026-12")).toEqual(["2026-12-01", "2026-12-31", 0]);
});

test("days begin at midnight of the zone, also by half hours and on days of 23 hours", async () => {
  const count = async (at: string, zone: string) => {
    await write(makeEntry(crypto.randomUUID(), { at: Date.parse(at) }));
    const range = { from: "2026-01-01", to: "2026-12-31" };
    const { rows } = await fixture.admin.usage({ by: "day", zone, ...range });
    return Object.fromEntries(rows.map(({ date, requests }) => [date, requests]));
  };
  expect(await count("2026-11-19T20:59:59.999Z", "Asia/Riyadh")).toEqual({ "2026-11-19": 1 });
  expect(await count("2026-11-19T21:00:00.000Z", "Asia/Riyadh")).toEqual({
    ...{ "2026-11-19": 1, "2026-11-20": 1 },
  });
  expect(await count("2026-11-19T18:30:00.000Z", "Asia/Kolkata")).toEqual({ "2026-11-20": 3 });
  expect(await count("2026-11-19T18:29:59.999Z", "Asia/Kolkata")).toEqual({
    ...{ "2026-11-19": 1, "2026-11-20": 3 },
  });
  // Clocks were set forward on 29 March: the day ended at 22:00 in UTC.
  expect(await count("2026-03-29T22:00:00.000Z", "Europe/Berlin")).toMatchObject({
    "2026-03-30": 1,
  });
  expect(await count("2026-03-28T23:00:00.000Z", "Europe/Berlin")).toMatchObject({
    ...{ "2026-03-29": 1, "2026-03-30": 1 },
  });
  // Midnight in Kathmandu is 18:15 in UTC: the half hour counts to the day in which it began.
  expect(await count("2026-06-01T18:20:00.000Z", "Asia/Kathmandu")).toMatchObject({
    "2026-06-01": 1,
  });
});

test("today and the last thirty days are those of the zone", async () => {
  // 13:00 in UTC the clock shows 02:00 of the next day in Auckland.
  await fixture.clock.advance(3_600_000);
  const { from, to, zone } = await fixture.admin.usage({ by: "day", zone: "Pacific/Auckland" });
  expect([from, to, zone]).toEqual(["2026-10-23", "2026-11-21", "Pacific/Auckland"]);
});

test("the currency is that of the settings", async () => {
  const other = await openFixture(["stub-1"], '\n[service]\ncurrency = "USD"\n');
  expect(await other.admin.usage({ by: "day" })).toMatchObject({ currency: "USD" });
  await other.close();
});

test("what cannot be summed is refused with a sentence", async () => {
  const ask = (request: object) => fixture.admin.usage({ by: "day", ...request });
  await expect(ask({ by: "week" })).rejects.toThrow('but not by "week"');
  await expect(ask({ by: "day,key,model" })).rejects.toThrow(
    "one or two of day, hour, account, key",
  );
  await expect(ask({ by: "day,day" })).rejects.toThrow('but not by "day,day"');
  await expect(ask({ by: "version" })).rejects.toThrow("sum by agent,version");
  await expect(ask({ month: "2026-13" })).rejects.toThrow('"2026-13" is no month');
  await expect(ask({ month: "2026-11", to: "2026-11-02" })).rejects.toThrow("no further days");
  await expect(ask({ from: "2026-02-30" })).rejects.toThrow('"2026-02-30" is no date');
  await expect(ask({ zone: "+03:00" })).rejects.toThrow('"+03:00" is no time zone');
});

test("a range far beyond what there is costs nothing", async () => {
  await write(makeEntry("1"));
  const { totals } = await fixture.admin.usage({ by: "day", from: "0001-01-01", to: "9999-12-30" });
  expect(totals.requests).toBe(1);
});

test("usage by hour begins where the zone's hours do, and names at most 7 days", async () => {
  const minutes = (count: number) => count * 60_000;
  await write(
    makeEntry("1"),
    makeEntry("2", { at: NOON + minutes(29) }),
    makeEntry("3", { at: NOON + minutes(31) }),
    makeEntry("4", { at: NOON + minutes(90) }),
  );
  const hours = async (zone: string) => {
    const { rows } = await fixture.admin.usage({ by: "hour", from: "2026-11-20", zone });
    return rows.map(({ hour, requests }) => [hour, requests]);
  };
  expect(await hours("UTC")).toEqual([
    ["2026-11-20T12:00:00.000Z", 3],
    ["2026-11-20T13:00:00.000Z", 1],
  ]);
  expect(await hours("Asia/Kolkata")).toEqual([
    ["2026-11-20T11:30:00.000Z", 2],
    ["2026-11-20T12:30:00.000Z", 1],
    ["2026-11-20T13:30:00.000Z", 1],
  ]);
  const { usage } = fixture.admin;
  const to = "2026-11-20";
  expect((await usage({ by: "hour", from: "2026-11-14", to })).rows).toHaveLength(2);
  for (const from of [undefined, "2026-11-13"]) {
    expect(usage({ by: "hour", from, to })).rejects.toThrow("7 days");
  }
  expect(usage({ by: "day,hour", from: "2026-11-20" })).rejects.toThrow("an hour has its day");
});

test("usage of one account, key, model or agent leaves the others out", async () => {
  await write(
    makeEntry("1", { account_id, key_id }),
    makeEntry("2", { account_id, key_id: "k-9", model: "other" }),
    makeEntry("3", { run_id: "r-1", agent_id: "g-1", agent_version: 1 }),
  );
  const count = async (filter: object) =>
    (await fixture.admin.usage({ by: "day", ...filter })).totals.requests;
  expect(await count({})).toBe(3);
  expect(await count({ account: "acme" })).toBe(2);
  expect(await count({ key: key_id })).toBe(1);
  expect(await count({ model: "other" })).toBe(1);
  expect(await count({ agent: "g-1" })).toBe(1);
  expect(await count({ account: "acme", model: "stub-1" })).toBe(1);
  expect(await count({ account: "acme", model: "other", key: "k-1" })).toBe(0);
  expect(count({ account: "nobody" })).rejects.toThrow("nobody");
});
