// What every room of this house is given: the database, whose runs it starts and how, time, names.
import type { Access } from "../access/index.ts";
import type { Starting } from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { SecretBox } from "../platform/secrets/box.ts";
import type { Settings } from "../platform/settings/index.ts";
import type { DiskSpace } from "../platform/storage/disk-space.ts";

export interface Around {
  database: Database;
  access: Pick<Access, "findCaller">;
  /** Judges a run that a fire is to start, all but what only its transaction can. */
  prepareRun: Starting["prepare"];
  clock: Clock;
  /** Refuses what is new while the disk is nearly full. */
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  /** In it lie the secrets with which hooks are signed. */
  secrets: SecretBox;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Settings;
}
