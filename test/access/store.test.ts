// Tests the storage of keys and accounts, on the engine of the whole run.

import { Database as Sqlite } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Access, buildAccess, SCOPES } from "../../src/access/index.ts";
import { WRITER } from "../../src/app.ts";
import { type Database, type DatabaseLocation, openDatabase } from "../../src/database/index.ts";
import { accountDeletionStore } from "../../src/inventory/accounts/store.ts";
import { stores } from "../../src/stores.ts";
import { storeAccount, storeKey } from "../support/access.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { openTestPlace, type TestPlace } from "../support/place.ts";

const clock = createManualClock();
let ground: TestPlace;
let database: Database;
let access: Access;

async function open(place: DatabaseLocation): Promise<[Database, Access]> {
  const opened = await openDatabase({
    place,
    stores,
    clock,
    onFailure: (failure) => {
      throw failure;
    },
  });
  return [opened, buildAccess({ database: opened, clock, ids: createSeededIds(), alias: "svc" })];
}

beforeAll(async () => {
  ground = await openTestPlace(undefined, WRITER);
  [database, access] = await open(ground.place);
});
afterAll(async () => {
  await database.close();
  await ground.release();
});

const identify = (secret: string) => access.identify(`Bearer ${secret}`);

test("gateway.authentication.9 a key without options has no scopes, no model list and no output cap", async () => {
  const account = await storeAccount(access, "plain");
  const { key, secret } = await storeKey(access, { account_id: account.id });
  expect(key).toMatchObject({
    scopes: [],
    models: null,
    max_output_tokens: null,
    kind: "ordinary",
  });
  expect(key).toMatchObject({ name: null, expires_at: null, revoked_at: null });
  const caller = await identify(secret);
  expect([caller.scopes.length, caller.models, caller.max_output_tokens]).toEqual([0, null, null]);
});

test("a key is returned with every requested option", async () => {
  const account = await storeAccount(access, "rich");
  const request = {
    account_id: account.id,
    name: "laptop",
    kind: "ordinary" as const,
    scopes: [...SCOPES],
    models: ["a", "b"],
    max_output_tokens: 100,
    expires_at: clock.now() + 1_000,
  };
  const { key, secret } = await storeKey(access, request);
  expect(key).toEqual({ ...request, id: key.id, created_at: clock.now(), revoked_at: null });
  expect(await access.keys.list(account.id)).toEqual([
    { ...key, ends_in: secret.slice(-4), last_used_at: null },
  ]);
  expect(await identify(secret)).toMatchObject({ key_id: key.id, models: ["a", "b"] });
});

test("gateway.authentication.2 a revoked key is refused on its very next request", async () => {
  const { key, secret } = await storeKey(access, { account_id: null });
  await identify(secret);
  await access.keys.revoke(key.id, clock.now());
  await expect(identify(secret)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("revoking twice changes nothing, and an unknown id revokes nothing", async () => {
  const { key } = await storeKey(access, { account_id: null });
  const revoked = await access.keys.revoke(key.id, clock.now());
  expect(revoked?.revoked_at).toBe(clock.now());
  clock.shiftWall(5_000);
  expect(await access.keys.revoke(key.id, clock.now())).toEqual(revoked);
  expect(await access.keys.revoke("01920000-0000-7000-8000-000000000000", 0)).toBeUndefined();
});

test("each change of a key and of its account's limits is told, and one without effect is not", async () => {
  const account = await storeAccount(access, "told");
  const { key } = await storeKey(access, { account_id: account.id });
  const told: (string | null)[] = [];
  const leave = database.listen("key", (id) => void told.push(id));
  const { stored } = access.credentials.makeSecret(key.id);
  const changes = [
    () => access.keys.update(key.id, { scopes: [] }, clock.now()),
    () => access.keys.limit(key.id, { requests_day: 1 }),
    () => access.accounts.limit(account.id, { requests_day: 1 }),
    () => access.keys.rotate(stored, clock.now()),
    () => access.keys.revoke(key.id, clock.now()),
  ];
  for (const change of changes) await change();
  expect(told.splice(0)).toEqual([key.id, key.id, account.id, key.id, key.id]);
  await access.keys.update(key.id, { scopes: ["think"] }, clock.now());
  await access.keys.rotate({ ...stored, hash: "another" }, clock.now());
  expect(told).toEqual([]);
  const deletions = database.bind(accountDeletionStore);
  await deletions.begin({ account_id: account.id, name: "told", begun_at: clock.now() });
  expect(told).toEqual([key.id]);
  leave();
});

test("keys are listed newest first, of one account or of all", async () => {
  const one = await storeAccount(access, "one");
  const two = await storeAccount(access, "two");
  const made = [];
  for (const { id } of [one, two, one]) made.push(await storeKey(access, { account_id: id }));
  const ids = made.map(({ key }) => key.id);
  const listed = (await access.keys.list(one.id)).map(({ id }) => id);
  expect(listed).toEqual([ids[2]!, ids[0]!]);
  const all = (await access.keys.list(null)).map(({ id }) => id);
  expect(all.slice(0, 3)).toEqual([ids[2]!, ids[1]!, ids[0]!]);
});

test("an account name is unique", async () => {
  const account = await storeAccount(access, "unique");
  expect(await access.accounts.create({ ...account, id: "other" })).toBe(false);
  expect(await access.accounts.find("unique")).toEqual(account);
  expect(await access.accounts.find("Unique")).toBeUndefined();
});

test("tables and files hold only the hash of a secret", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-keys-"));
  const file = join(directory, "wadi.db");
  const [kept, opened] = await open({ kind: "sqlite", file });
  const account = await storeAccount(opened, "kept");
  const secrets = [];
  for (const name of ["a", "b"]) {
    secrets.push((await storeKey(opened, { account_id: account.id, name })).secret);
  }
  secrets.push((await storeKey(opened, { account_id: null, secret: "chosen-by-hand" })).secret);
  await kept.close();

  const reader = new Sqlite(file, { readonly: true });
  const rows = reader.query("SELECT hash FROM key_secrets").all();
  reader.close();
  expect(rows).toHaveLength(3);
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name), "latin1"));
  const isFound = (text: string) => files.some((bytes) => bytes.includes(text));
  // The account's name proves that stored text would be found.
  expect(["kept", ...secrets].map(isFound)).toEqual([true, false, false, false]);
  rmSync(directory, { recursive: true });
});
