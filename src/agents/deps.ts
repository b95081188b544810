// What every room of this house is given: the database, the gateway from inside, time, names.
import type { Access } from "../access/index.ts";
import type { Activity, Process } from "../cluster/index.ts";
import type { Compute } from "../compute/index.ts";
import type { SecretStore } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import type { GatewayInternal } from "../gateway/index.ts";
import type { GuardedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";

export interface AgentsDeps {
  database: Database;
  access: Pick<Access, "findCaller">;
  inside: GatewayInternal;
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
  secrets: SecretStore;
  /** The permanent name of the default model. */
  alias: string;
  /** The settings in force now: asked for each time, since a reload may change them. */
  settings(): Settings;
}
