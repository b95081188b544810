// Dependencies of the admin module; each use case picks what it needs.
import type { Access } from "../access/index.ts";
import type { SecretStore } from "../crypto/index.ts";
import type { Database, DatabaseLocation } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../settings/index.ts";
import type { Installation } from "./installation.ts";

export interface AdminDeps {
  /** Only models of the settings can be switched, granted and put on a key's list. */
  settings: Settings;
  access: Access;
  database: Database;
  /** Place of the database. */
  place: DatabaseLocation;
  clock: Clock;
  ids: Ids;
  secrets: SecretStore;
  installation: Installation;
}
