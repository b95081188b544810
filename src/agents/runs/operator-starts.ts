// Starts of runs by operators, on a database that a server may be using.
import type { Caller } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import { createModelCheck } from "../../gateway/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Settings } from "../../settings/index.ts";
import type { DiskSpace } from "../../storage/index.ts";
import { agentStore } from "../definitions/store.ts";
import { createShownCatalog } from "../tools/catalog.ts";
import { createPriceOf } from "../tools/prices.ts";
import type { RunRow } from "./run.ts";
import { RunStarter } from "./start.ts";
import { runStore } from "./store/index.ts";

export interface OperatorStartsOptions {
  database: Database;
  settings: Settings;
  disk: Pick<DiskSpace, "require">;
  clock: Clock;
  ids: Ids;
}

export interface OperatorStart {
  agent_id: string;
  message: string;
  hook?: unknown;
  operator: string;
}

export function createOperatorStarts(options: OperatorStartsOptions) {
  const { database, settings } = options;
  const agents = database.bind(agentStore);
  const runs = database.bind(runStore);
  const current = () => settings;
  const starter = new RunStarter(
    {
      ...options,
      settings: current,
      alias: settings.service.alias,
      internal: { chat: createModelCheck(database, settings) },
    },
    {
      runs,
      findVersion: agents.findVersion,
      priceOf: createPriceOf(current, createShownCatalog()),
    },
  );
  return {
    /** Finds the owner of an agent, its current version and the key that made that. */
    async findAgent(id: string) {
      const agent = await runs.findStartable(id);
      const version = agent && (await agents.findVersion(id, agent.current_version));
      return version && { account_id: agent.account_id, ...version };
    },
    /** Checks a run of a trigger, whose fire starts it. */
    prepare: starter.prepare.bind(starter),
    /** The run acts for the caller; throws what the route of starts answers with. */
    async start(caller: Caller, { agent_id, ...request }: OperatorStart): Promise<RunRow> {
      return (await starter.start(caller, agent_id, request)).run;
    },
  };
}
