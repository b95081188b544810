// Dependencies of what operators do with agents, on a database that a server may be using.
import type { Compute } from "../compute/index.ts";
import type { Database } from "../database/index.ts";
import { createModelCheck } from "../gateway/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../settings/index.ts";
import type { DiskSpace } from "../storage/index.ts";
import { toolComputations } from "./tools/computations.ts";

export interface OperatorDepsOptions {
  database: Database;
  settings: Settings;
  disk: Pick<DiskSpace, "require">;
  clock: Clock;
  ids: Ids;
}

/** Without Workers: an operator's schemas are bounded, and checked where the command runs. */
const compute: Compute = {
  async run(task, input) {
    const found = toolComputations.find(({ name }) => name === task.name)!;
    return { ok: true, value: await found.run(input) } as never;
  },
};

/** The part of the module's dependencies that needs no server. */
export function createOperatorDeps(options: OperatorDepsOptions) {
  const { database, settings } = options;
  return {
    ...options,
    settings: () => settings,
    compute,
    alias: settings.service.alias,
    internal: { chat: createModelCheck(database, settings) },
  };
}
