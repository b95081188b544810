// Dependencies of the agents module.
import type { Access } from "../access/index.ts";
import type { Activity, Process } from "../cluster/index.ts";
import type { Compute } from "../compute/index.ts";
import type { Secrets } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import type { GatewayInternal } from "../gateway/index.ts";
import type { GuardedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";
import type { LiveRuns } from "./runs/events/live.ts";
import type { StepOutcome } from "./runs/step.ts";
import type { RunTraces } from "./runs/trace.ts";

export interface AgentsDeps {
  database: Database;
  access: Pick<Access, "findCaller">;
  internal: GatewayInternal;
  egress: Pick<GuardedEgress, "validate" | "request">;
  process: Pick<Process, "epoch" | "join" | "fence" | "isSkewed">;
  compute: Compute;
  activity: Activity;
  clock: Clock;
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  /** Counts what became of a call. */
  countCall?(outcome: StepOutcome): void;
  /** Absent where no traces are recorded. */
  traces?: RunTraces | undefined;
  /** Shows replies while they are written; absent where no client can follow. */
  live?: LiveRuns | undefined;
  secrets: Secrets;
  /** Permanent name of the default model. */
  alias: string;
  /** The current settings; a reload may change them. */
  settings(): Settings;
}
