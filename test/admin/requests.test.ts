// Tests the operator's search for requests, and what it refuses.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { RequestSearch } from "../../src/admin/requests.ts";
import { type LogEntry, writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { firstIdAt, NO_ID } from "../../src/platform/ids.ts";
import { makeEntry, NOON, REFUSED } from "../support/request-log.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

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

async function find(search: RequestSearch): Promise<string[]> {
  const { rows } = await fixture.admin.requests.list(search, 20, null);
  return rows.map(({ id }) => id);
}

test("rows name the account and the key, where they are known", async () => {
  await write(makeEntry("1", { account_id, key_id }), makeEntry("2", REFUSED));
  const { rows, next } = await fixture.admin.requests.list({}, 20, null);
  expect(rows).toMatchObject([
    { id: "2", account: null, key: null },
    { id: "1", account: "acme", key: "laptop" },
  ]);
  expect(next).toBeNull();
});

test("a search by account, key, status class, status, time and duration", async () => {
  await write(
    makeEntry("1", { account_id, key_id, at: NOON - 7_200_000 }),
    makeEntry("2", { status: 503, code: "model_offline" }),
    makeEntry("3", { status: 599, code: "upstream_timeout", duration_ms: 2_001 }),
    makeEntry("4", { run_id: "r-1" }),
  );
  expect(await find({ account: "acme" })).toEqual(["1"]);
  expect(await find({ key: key_id.toUpperCase() })).toEqual(["1"]);
  expect(await find({ status: "5xx" })).toEqual(["3", "2"]);
  expect(await find({ status: "503" })).toEqual(["2"]);
  expect(await find({ code: "upstream_timeout" })).toEqual(["3"]);
  expect(await find({ since: "1h" })).toEqual(["4", "3", "2"]);
  expect(await find({ since: "2026-11-21" })).toEqual([]);
  expect(await find({ slower_than_ms: 2_000 })).toEqual(["3"]);
  expect(await find({ run: "R-1" })).toEqual(["4"]);
});

test("what is mistyped is refused with a sentence", async () => {
  await expect(find({ status: "6xx" })).rejects.toThrow('"6xx" is no status, such as 429 or 5xx');
  await expect(find({ since: "soon" })).rejects.toThrow('"soon" is no time');
  await expect(find({ account: "acmee" })).rejects.toThrow('did you mean "acme"?');
  await expect(find({ key: "svc_sk_test" })).rejects.toThrow("that is no key's id");
  await expect(fixture.admin.requests.explain("none")).rejects.toThrow(
    'there is no request "none": see `wadi requests list`',
  );
  const long = fixture.admin.requests.explain("n".repeat(4_096));
  await expect(long).rejects.toThrow(/^there is no request "n{1,200}…": see/);
});

test("a request is explained by its own id or its row's, the newest first", async () => {
  const same = { request_id: "same", account_id, key_id };
  await write(makeEntry("1", same), makeEntry("2", { ...same, status: 429, code: "x" }));
  const found = await fixture.admin.requests.explain("same");
  expect(found.map(({ id, explanation }) => [id, explanation[0], explanation.at(-1)])).toEqual([
    ["2", `key "laptop" (${key_id}) of account "acme"`, "refused 429 x"],
    ["1", `key "laptop" (${key_id}) of account "acme"`, "ended 201 stop after 12 ms"],
  ]);
  expect((await fixture.admin.requests.explain("1")).map(({ id }) => id)).toEqual(["1"]);
});

test("a part of an id, as a terminal shows it, finds recent requests", async () => {
  const request_id = "0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11";
  await write(makeEntry("1", { request_id }), makeEntry("2"));
  const find = async (part: string) =>
    (await fixture.admin.requests.explain(part)).map(({ id }) => id);
  expect(await find("1F6E0A11")).toEqual(["1"]);
  expect(await find("0198a6")).toEqual(["1"]);
  await expect(find("0a11")).rejects.toThrow('there is no request "0a11"');
  await expect(find("%%%%%%")).rejects.toThrow('there is no request "%%%%%%"');
});

test("later requests follow an id", async () => {
  const [first, second] = [firstIdAt(NOON), firstIdAt(NOON + 1)];
  await write(makeEntry(first), makeEntry(second, { status: 500, code: "internal_error" }));
  await fixture.clock.advance(2_000);
  const { admin } = fixture;
  expect(await admin.requests.listLater({ status: "5xx" }, NO_ID)).toMatchObject({
    rows: [{ id: second, key: null }],
    last: second,
  });
  expect(await admin.requests.listLater({}, second)).toEqual({ rows: [], last: second });
});
