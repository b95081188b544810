// Tests the effect of grants on the models of a key.
import { expect, test } from "bun:test";
import { modelStore } from "../../src/models/store.ts";
import { KEY, startApp } from "../support/app.ts";
import { openFixture } from "./fixture.ts";

const ELSEWHERE = `
[[models]]
id = "rented"
upstream = { kind = "stub" }
[[models]]
id = "inner"
self_hosted = true
visibility = "internal"
upstream = { kind = "stub" }
[[models]]
id = "secret"
self_hosted = true
visibility = "private"
upstream = { kind = "stub" }
`;
const SETTINGS = `
[[models]]
id = "own"
self_hosted = true
[models.upstream]
kind = "stub"

[[models]]
id = "rented"
[models.upstream]
kind = "stub"
`;

test("gateway.authentication.6 a granted external model is listed and answers until the grant is revoked", async () => {
  const app = await startApp({ settings: SETTINGS });
  const { accounts } = app.app.admin;
  const look = async () => {
    const listed = (await (await app.get("/v1/models")).json()) as { data: { id: string }[] };
    const { status } = await app.chat("Hello", { model: "rented" });
    return [listed.data.some(({ id }) => id === "rented"), status];
  };
  expect(await look()).toEqual([false, 403]);
  await accounts.grant("dev", "rented");
  expect(await look()).toEqual([true, 201]);
  // Another account has no grant.
  const other = await app.chat("Hello", { model: "rented" }, { key: `${KEY}-other` });
  expect(other.status).toBe(403);
  await accounts.ungrant("dev", "rented");
  expect(await look()).toEqual([false, 403]);
  await app.stop();
});

test("a grant without effect says why, and is kept for other settings", async () => {
  const { admin, close } = await openFixture(["own"], ELSEWHERE);
  await admin.accounts.create("acme");
  const { grant } = admin.accounts;
  for (const id of ["rented", "secret"]) expect(await grant("acme", id)).toBeUndefined();
  expect(await grant("acme", "own")).toContain("every account may call it");
  expect(await grant("acme", "inner")).toContain("no key may see it");
  await close();
});

test("a mistyped grant or revocation is refused, and changes nothing", async () => {
  const { admin, database, close } = await openFixture(["own"], ELSEWHERE);
  const { grant, ungrant, create } = admin.accounts;
  const { id } = await create("acme");
  await grant("acme", "rented");
  const says = 'there is no model "rentd"; did you mean "rented"?';
  await expect(grant("acme", "rentd")).rejects.toThrow(says);
  await expect(ungrant("acme", "rentd")).rejects.toThrow(says);
  await expect(ungrant("acmee", "rented")).rejects.toThrow('did you mean "acme"?');
  const models = database.bind(modelStore);
  await models.see(["rented"], 0);
  expect(await models.find("rented", id)).toMatchObject({ is_granted: true });
  await ungrant("acme", "rented");
  expect(await models.find("rented", id)).toMatchObject({ is_granted: false });
  // A repetition changes nothing. A grant of a model removed from the settings can be revoked.
  await ungrant("acme", "rented");
  await models.grant(id, "gone", 0);
  await ungrant("acme", "gone");
  await expect(ungrant("acme", "gone")).rejects.toThrow('there is no model "gone"');
  await close();
});

test("dev grants its own account every model that needs a grant, and no other account", async () => {
  const { admin, access, database, close } = await openFixture(["own"], ELSEWHERE);
  await admin.createDevKeys(KEY);
  await admin.grantDevModels();
  const list = async (name: string) => {
    const account = (await access.accounts.find(name))!;
    const rows = await database.bind(modelStore).list(account.id);
    return rows.filter(({ is_granted }) => is_granted).map(({ id }) => id);
  };
  await database.bind(modelStore).see(["own", "rented", "inner", "secret"], 0);
  expect((await list("dev")).sort()).toEqual(["rented", "secret"]);
  expect(await list("other")).toEqual([]);
  await close();
});
