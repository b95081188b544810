// What every room of this house is given: the database, whose runs it starts and how, time, names.
import type { Access } from "../access/index.ts";
import type { RunStarter } from "../agents/index.ts";
import type { SecretStore } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";

export interface TriggersDeps {
  database: Database;
  access: Pick<Access, "findCaller">;
  /** Judges a run that a fire is to start, all but what only its transaction can. */
  prepareRun: RunStarter["prepare"];
  clock: Clock;
  /** Refuses what is new while the disk is nearly full. */
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  /** In it lie the secrets with which hooks are signed. */
  secrets: SecretStore;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Settings;
}
