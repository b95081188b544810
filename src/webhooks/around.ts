// What every room of this house is given: the database, the way out, the box of secrets, time.
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/index.ts";
import type { GuardedEgress } from "../platform/egress/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Process } from "../platform/processes/process.ts";
import type { SecretBox } from "../platform/secrets/box.ts";
import type { Settings } from "../platform/settings/index.ts";
import type { DiskSpace } from "../platform/storage/disk-space.ts";

export interface Around {
  database: Database;
  /** The way out to addresses that callers name. */
  egress: Pick<GuardedEgress, "judge" | "request">;
  /** This process among others: what is claimed is claimed under its number. */
  process: Pick<Process, "epoch" | "join">;
  clock: Clock;
  /** Refuses what is new while the disk is nearly full. */
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  /** The secrets of endpoints lie in it. */
  secrets: SecretBox;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Settings;
}
