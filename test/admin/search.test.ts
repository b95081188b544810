// Tests the search of an operator who jumps to an object by its name or id.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { nameLocalActor, perform, searchOperations } from "../../src/admin/index.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture(["stub-1", "Allam-7B"]);
});
afterEach(() => fixture.close());

const find = (text: string) =>
  perform(fixture.admin, searchOperations.find, { text }, nameLocalActor());

test("names of models, accounts and keys are found by a part, in any case", async () => {
  const { admin } = fixture;
  await admin.accounts.create("allamy");
  const { key } = await admin.keys.create(keyRequest({ account: "allamy", name: "All Am" }));
  const { id } = (await admin.accounts.list())[0]!;
  expect(await find(" aLLam ")).toEqual([
    { kind: "model", id: "Allam-7B", name: "Allam-7B", account: null },
    { kind: "account", id, name: "allamy", account: null },
  ]);
  const named = { kind: "key", id: key.id, name: "All Am", account: "allamy" };
  expect(await find("all am")).toEqual([named]);
  for (const text of [key.id, key.id.slice(-8), key.id.slice(-6).toUpperCase()]) {
    expect(await find(text)).toEqual([named]);
  }
});

test("it finds five of a kind at most, and nothing for an empty or a strange text", async () => {
  for (let n = 0; n < 7; n++) await fixture.admin.accounts.create(`team-${n}`);
  expect((await find("team")).map(({ name }) => name)).toEqual([
    ...["team-6", "team-5", "team-4", "team-3", "team-2"],
  ]);
  for (const text of ["", "  ", "%", "_", "'", "!", "x".repeat(256)]) {
    expect(await find(text), text).toEqual([]);
  }
  await expect(find("x".repeat(257))).rejects.toThrow();
});
