// Dependencies of the webhooks module; each constructor picks what it needs.
import type { Process } from "../cluster/index.ts";
import type { Secrets } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import type { GuardedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";

export interface WebhookDeps {
  database: Database;
  egress: Pick<GuardedEgress, "validate" | "request">;
  /** Deliveries are claimed under its number. */
  process: Pick<Process, "epoch" | "join" | "fence" | "members">;
  clock: Clock;
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  settings(): Settings;
}
