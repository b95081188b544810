// Tests the permission of a key for a model, for every combination of its conditions.
import { describe, expect, test } from "bun:test";
import type { Scope } from "../../src/access/index.ts";
import { accountStore } from "../../src/access/store.ts";
import {
  authorizeModel,
  createGrants,
  createPermissions,
  type ModelPermission,
  needsGrant,
} from "../../src/models/permission.ts";
import { modelStore } from "../../src/models/store.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";

type Visibility = "public" | "private" | "internal";

// [visibility, self-hosted, granted] → [without a list, on the list, not on the list]
const TABLE: [Visibility, boolean, boolean, ModelPermission, ModelPermission, ModelPermission][] = [
  ["public", true, false, "allowed", "allowed", "refused"],
  ["public", true, true, "allowed", "allowed", "refused"],
  ["public", false, false, "refused", "refused", "refused"],
  ["public", false, true, "allowed", "allowed", "refused"],
  ["private", true, false, "hidden", "hidden", "hidden"],
  ["private", true, true, "allowed", "allowed", "refused"],
  ["private", false, false, "hidden", "hidden", "hidden"],
  ["private", false, true, "allowed", "allowed", "refused"],
  ["internal", true, false, "hidden", "hidden", "hidden"],
  ["internal", true, true, "hidden", "hidden", "hidden"],
  ["internal", false, false, "hidden", "hidden", "hidden"],
  ["internal", false, true, "hidden", "hidden", "hidden"],
];

describe("a model that is", () => {
  for (const [visibility, self_hosted, granted, ...outcomes] of TABLE) {
    const what = `${visibility}, ${self_hosted ? "self-hosted" : "another's"}, ${granted ? "" : "not "}granted`;
    test(`${what} is ${outcomes.join(", ")}`, () => {
      const lists = [null, ["m-0", "m-1"], []];
      const authorize = (think: "optional" | "required", scopes: readonly Scope[]) =>
        lists.map((models) => {
          const settings = { id: "m-1", visibility, self_hosted, think };
          return authorizeModel(settings, { models, scopes }, granted);
        });
      expect(authorize("optional", [])).toEqual(outcomes);
      // gateway.endpoints.chat_completions.7
      expect(authorize("required", ["think"])).toEqual(outcomes);
      const unscoped = outcomes.map((outcome) => (outcome === "allowed" ? "unscoped" : outcome));
      expect(authorize("required", ["reasoning"])).toEqual(unscoped);
    });
  }
});

test("a grant is needed exactly where it can change the outcome", () => {
  for (const visibility of ["public", "private", "internal"] as const) {
    for (const self_hosted of [true, false]) {
      const settings = { id: "m-1", visibility, self_hosted, think: "optional" } as const;
      const caller = { models: null, scopes: [] as Scope[] };
      const authorize = (granted: boolean) => authorizeModel(settings, caller, granted);
      if (authorize(true) !== authorize(false)) expect(needsGrant(settings)).toBe(true);
    }
  }
  expect(needsGrant({ visibility: "public", self_hosted: true })).toBe(false);
});

test("a permission is read with the grants of the caller's account", async () => {
  const database = await openTestDatabase({ kind: "memory" });
  const accounts = database.bind(accountStore);
  for (const id of ["a-1", "a-2"]) await accounts.create({ id, name: id, created_at: 0 });
  const rented = { ...defaultSettings().models[0]!, id: "rented", self_hosted: false };
  const permissionOf = createPermissions(database);
  const of = (account_id: string | null) =>
    permissionOf(rented, {
      ...{ key_id: "k-1", account_id, kind: "ordinary", scopes: [], models: null },
      max_output_tokens: null,
    });
  // A model that no server has noted has no grants.
  expect(await of("a-1")).toBe("refused");
  await database.bind(modelStore).see(["rented"], 0);
  await createGrants(database, createManualClock()).grant("a-1", "rented");
  expect([await of("a-1"), await of("a-2"), await of(null)]).toEqual([
    ...(["allowed", "refused", "refused"] as const),
  ]);
  await database.close();
});
