// Tests the keys created at a start: fixed ones for `dev`, one at the first start of `serve`.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

const KEY = "svc_sk_dev";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const identify = (secret: string) => fixture.access.identify(`Bearer ${secret}`);
const countKeys = async () => (await fixture.access.keys.list(null)).length;

test("dev creates a key of each kind", async () => {
  const others = await fixture.admin.createDevKeys(KEY);
  const endings = ["approver", "none", "other", "expired", "revoked", "internal", "ownerless"];
  expect(others).toEqual(endings.map((ending) => `${KEY}-${ending}`));

  const first = await identify(KEY);
  expect(first.scopes).toContain("agents");
  expect(first.scopes).not.toContain("agents.approve");
  const approver = await identify(`${KEY}-approver`);
  expect(approver.scopes).toEqual(["agents", "agents.approve"]);
  const none = await identify(`${KEY}-none`);
  expect(none.scopes).toEqual([]);
  for (const mine of [approver, none]) expect(mine.account_id).toBe(first.account_id);
  const other = await identify(`${KEY}-other`);
  expect(other.account_id).toBeString();
  expect(other.account_id).not.toBe(first.account_id);
  expect(await identify(`${KEY}-internal`)).toMatchObject({ kind: "internal" });
  expect(await identify(`${KEY}-ownerless`)).toMatchObject({ account_id: null });
  for (const ending of ["expired", "revoked"]) {
    await expect(identify(`${KEY}-${ending}`)).rejects.toMatchObject({ code: "invalid_api_key" });
  }
});

test("dev's expired key is expired whatever the clock says at a later start", async () => {
  await fixture.admin.createDevKeys(KEY);
  fixture.clock.shiftWall(-365 * 86_400_000);
  await expect(identify(`${KEY}-expired`)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("data kept by dev keeps its keys, and gets those of a new name", async () => {
  const { admin } = fixture;
  const others = await admin.createDevKeys(KEY);
  expect(await admin.createDevKeys(KEY)).toEqual(others);
  expect(await countKeys()).toBe(8);
  await admin.createDevKeys("another");
  expect(await countKeys()).toBe(16);
  const [first, second] = await Promise.all([identify(KEY), identify("another")]);
  expect(second.account_id).toBe(first.account_id);
});

test("a revoked key of dev stays revoked at the next start", async () => {
  const { admin } = fixture;
  await admin.createDevKeys(KEY);
  await admin.keys.revoke((await identify(KEY)).key_id);
  await admin.createDevKeys(KEY);
  await expect(identify(KEY)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("dev's keys are not stored in plain text", async () => {
  await fixture.admin.createDevKeys("canary");
  expect(JSON.stringify(await fixture.admin.keys.list(null))).not.toContain("canary");
});

test("the first start of serve creates one account with one key, once", async () => {
  const { admin } = fixture;
  const secret = await admin.createFirstKey();
  expect(secret).toMatch(/^svc_sk_[0-9A-Za-z]{49}$/);
  expect(await admin.createFirstKey()).toBeUndefined();
  expect((await admin.accounts.list()).map(({ name }) => name)).toEqual(["default"]);
  expect(await admin.keys.list(null)).toMatchObject([{ account: "default", name: "first" }]);
  const { scopes } = await identify(secret!);
  expect(scopes).toEqual(["reasoning", "think", "embeddings", "search", "agents"]);
});

test("serve creates nothing if an account exists", async () => {
  await fixture.admin.accounts.create("dev");
  expect(await fixture.admin.createFirstKey()).toBeUndefined();
  expect(await countKeys()).toBe(0);
});

test("serve refuses the data of dev, whose keys are public", async () => {
  await fixture.admin.createDevKeys(KEY);
  await expect(fixture.admin.createFirstKey()).rejects.toBeInstanceOf(AdminError);
  await expect(fixture.admin.createFirstKey()).rejects.toThrow("--data");
});

test("serve refuses the data of dev also where its accounts were deleted", async () => {
  const { admin } = fixture;
  await admin.createDevKeys(KEY);
  for (const account of ["dev", "other"]) {
    await admin.accountDeletion.remove(account);
    await expect(admin.createFirstKey()).rejects.toThrow("whose keys everybody knows");
  }
});

test("dev refuses data with an account and no key", async () => {
  await fixture.admin.accounts.create("team-a");
  await expect(fixture.admin.createDevKeys(KEY)).rejects.toThrow("`wadi serve`");
  expect(await countKeys()).toBe(0);
});

test("dev refuses the data of serve, even with an account called dev", async () => {
  const { admin } = fixture;
  await admin.accounts.create("dev");
  await admin.keys.create(keyRequest({ account: "dev", name: "wadi dev" }));
  await expect(admin.createDevKeys(KEY)).rejects.toBeInstanceOf(AdminError);
  expect(await countKeys()).toBe(1);
});
