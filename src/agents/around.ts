// What every room of this house is given: the database, the gateway from inside, time, names.
import type { Access } from "../access/index.ts";
import type { GatewayInside } from "../gateway/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Compute } from "../platform/compute/index.ts";
import type { Database } from "../platform/database/index.ts";
import type { GuardedEgress } from "../platform/egress/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Process } from "../platform/processes/process.ts";
import type { SecretBox } from "../platform/secrets/box.ts";
import type { Settings } from "../platform/settings/index.ts";
import type { DiskSpace } from "../platform/storage/disk-space.ts";
import type { Activity } from "../platform/watchdog/index.ts";

export interface Around {
  database: Database;
  access: Pick<Access, "findCaller">;
  inside: GatewayInside;
  /** The way out to addresses that callers and models name, pages and tools. */
  egress: Pick<GuardedEgress, "judge" | "request">;
  /** This process among others: what is claimed is claimed under its number. */
  process: Pick<Process, "epoch" | "join">;
  /** Where what could hold the event loop is computed. */
  compute: Compute;
  /** What the watchdog of the event loop is told of runs. */
  activity: Activity;
  clock: Clock;
  /** Refuses what is new while the disk is nearly full. */
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  /** Whatever is kept and secret lies in it. */
  secrets: SecretBox;
  /** The permanent name of the default model. */
  alias: string;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Settings;
}
