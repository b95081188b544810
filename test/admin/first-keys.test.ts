// The keys that a start makes: fixed ones for `dev`, one for the first start of `serve`, never both.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { type House, openHouse, wish } from "./fixture.ts";

const KEY = "svc_sk_dev";

let house: House;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house.close());

const identify = (secret: string) => house.access.identify(`Bearer ${secret}`);
const countKeys = async () => (await house.access.keys.list(null)).length;

test("dev has a key of each kind", async () => {
  const others = await house.admin.createDevKeys(KEY);
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
  await house.admin.createDevKeys(KEY);
  house.clock.shiftWall(-365 * 86_400_000);
  await expect(identify(`${KEY}-expired`)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("data that dev keeps has its keys already, and takes those of another name", async () => {
  const { admin } = house;
  const others = await admin.createDevKeys(KEY);
  expect(await admin.createDevKeys(KEY)).toEqual(others);
  expect(await countKeys()).toBe(8);
  await admin.createDevKeys("another");
  expect(await countKeys()).toBe(16);
  const [first, second] = await Promise.all([identify(KEY), identify("another")]);
  expect(second.account_id).toBe(first.account_id);
});

test("a key of dev's that was revoked stays revoked at the next start", async () => {
  const { admin } = house;
  await admin.createDevKeys(KEY);
  await admin.keys.revoke((await identify(KEY)).key_id);
  await admin.createDevKeys(KEY);
  await expect(identify(KEY)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("dev's keys do not lie in the database as they are", async () => {
  await house.admin.createDevKeys("canary");
  expect(JSON.stringify(await house.admin.keys.list(null))).not.toContain("canary");
});

test("a first start of serve makes one account with one key, once", async () => {
  const { admin } = house;
  const secret = await admin.createFirstKey();
  expect(secret).toMatch(/^svc_sk_[0-9A-Za-z]{49}$/);
  expect(await admin.createFirstKey()).toBeUndefined();
  expect((await admin.accounts.list()).map(({ name }) => name)).toEqual(["default"]);
  expect(await admin.keys.list(null)).toMatchObject([{ account: "default", name: "first" }]);
  const { scopes } = await identify(secret!);
  expect(scopes).toEqual(["reasoning", "think", "embeddings", "search", "agents"]);
});

test("where an account is there already, serve makes nothing", async () => {
  await house.admin.accounts.create("dev");
  expect(await house.admin.createFirstKey()).toBeUndefined();
  expect(await countKeys()).toBe(0);
});

test("serve refuses the data of dev, whose keys everybody knows", async () => {
  await house.admin.createDevKeys(KEY);
  await expect(house.admin.createFirstKey()).rejects.toBeInstanceOf(AdminError);
  await expect(house.admin.createFirstKey()).rejects.toThrow("--data");
});

test("dev refuses data that has an account and no key yet", async () => {
  await house.admin.accounts.create("team-a");
  await expect(house.admin.createDevKeys(KEY)).rejects.toThrow("`wadi serve`");
  expect(await countKeys()).toBe(0);
});

test("dev refuses the data of serve, also where an account is called dev", async () => {
  const { admin } = house;
  await admin.accounts.create("dev");
  await admin.keys.create(wish({ account: "dev", name: "wadi dev" }));
  await expect(admin.createDevKeys(KEY)).rejects.toBeInstanceOf(AdminError);
  expect(await countKeys()).toBe(1);
});
