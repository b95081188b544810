// The operator's use cases on an empty database in memory, with the access module.
import { type Access, buildAccess } from "../../src/access/index.ts";
import { type Admin, buildAdmin } from "../../src/admin/index.ts";
import type { KeyRequest } from "../../src/admin/keys.ts";
import { type Database, openDatabase } from "../../src/database/index.ts";
import { readSettings } from "../../src/settings/index.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import { placeInMemory } from "../support/memory.ts";
import { openTestSecrets } from "../support/secrets.ts";

export interface AdminFixture {
  admin: Admin;
  access: Access;
  clock: ManualClock;
  database: Database;
  close(): Promise<void>;
}

/** Appends `more` to the text of the settings. */
export async function openFixture(
  models: readonly string[] = ["stub-1"],
  more = "",
): Promise<AdminFixture> {
  const settings = readSettings(models.map(model).join("") + more, "wadi.toml", {}, {});
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const place = await placeInMemory();
  const database = await openDatabase({ place, stores, clock, onFailure });
  const ids = createSeededIds();
  const access = buildAccess({ database, clock, ids, alias: "svc" });
  const secrets = openTestSecrets(database, clock);
  const installation = NO_INSTALLATION;
  const core = { settings, access, database, place, clock, ids };
  const admin = buildAdmin({ ...core, secrets, installation, server: null });
  return { admin, access, clock, database, close: database.close };
}

/** A self-hosted, public model of the settings. */
const model = (id: string) => `
[[models]]
id = "${id}"
self_hosted = true
upstream = { kind = "stub" }
`;

/** A key without special rights, by default of the account acme. */
export function keyRequest(fields: Partial<KeyRequest> = {}): KeyRequest {
  return {
    account: "acme",
    name: null,
    is_internal: false,
    scopes: [],
    models: null,
    max_output_tokens: null,
    lifetimeMs: null,
    ...fields,
  };
}
