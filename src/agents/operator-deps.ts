// Dependencies of what operators do with agents, on a database that a server may be using.
import type { Database } from "../database/index.ts";
import { createModelCheck } from "../gateway/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";

export interface OperatorDepsOptions {
  database: Database;
  settings: Settings;
  disk: Pick<DiskSpace, "require">;
  clock: Clock;
  ids: Ids;
}

/** The part of the module's dependencies that needs no server. */
export function createOperatorDeps(options: OperatorDepsOptions) {
  const { database, settings } = options;
  return {
    ...options,
    settings: () => settings,
    alias: settings.service.alias,
    internal: { chat: createModelCheck(database, settings) },
  };
}
