// Dependencies of the triggers module.
import type { Access } from "../access/index.ts";
import type { RunStarter } from "../agents/index.ts";
import type { Process } from "../cluster/index.ts";
import type { Secrets } from "../crypto/index.ts";
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";

export interface TriggersDeps {
  database: Database;
  access: Pick<Access, "findCaller">;
  prepareRun: RunStarter["prepare"];
  process: Pick<Process, "isSkewed">;
  clock: Clock;
  disk: Pick<DiskSpace, "require">;
  ids: Ids;
  log: Log;
  secrets: Secrets;
  settings(): Settings;
}
