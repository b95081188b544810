// The operator's verbs on an empty database in memory, and the access house below them.
import { type Access, buildAccess } from "../../src/access/index.ts";
import { type Admin, buildAdmin, type KeyRequest } from "../../src/admin/index.ts";
import { type Database, openDatabase } from "../../src/database/index.ts";
import { readSettings } from "../../src/settings/index.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { placeInMemory } from "../support/memory.ts";
import { openTestSecrets } from "../support/secrets.ts";

export interface House {
  admin: Admin;
  access: Access;
  clock: ManualClock;
  database: Database;
  close(): Promise<void>;
}

/** `more` is text of the settings, behind the models. */
export async function openHouse(models: readonly string[] = ["stub-1"], more = ""): Promise<House> {
  const settings = readSettings(models.map(model).join("") + more, "wadi.toml", {}, {});
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database = await openDatabase({ place: await placeInMemory(), stores, clock, onFailure });
  const ids = createSeededIds();
  const access = buildAccess({ database, clock, ids, alias: "svc" });
  const secrets = openTestSecrets(database, clock);
  const admin = buildAdmin({ settings, access, database, clock, ids, secrets });
  return { admin, access, clock, database, close: database.close };
}

/** A self-hosted, public model of the settings. */
const model = (id: string) => `
[[models]]
id = "${id}"
self_hosted = true
upstream = { kind = "stub" }
`;

/** A key that may do nothing special, of the account acme unless said otherwise. */
export function wish(fields: Partial<KeyRequest> = {}): KeyRequest {
  return {
    account: "acme",
    name: null,
    is_internal: false,
    scopes: [],
    models: null,
    max_output_tokens: null,
    lifetime_ms: null,
    ...fields,
  };
}
