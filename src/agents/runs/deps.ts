// What the routes of runs share: the store, and objects that are the caller's or are not found.
import { accountOf, type Caller } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import type { RunRow } from "./run.ts";
import { runStore } from "./store/index.ts";

export interface RunsDeps extends AgentsDeps {
  runs: Bound<typeof runStore>;
  /** agents.errors.run_not_found, agents.authentication.6 */
  findRun(caller: Caller, id: string): Promise<RunRow>;
  /** Refuses an id that stands beside what is asked for as if there were no such object. */
  refuseForeign: Readonly<
    Record<"agent" | "thread", (id: string, account_id: string) => Promise<void>>
  >;
}

export function createRunsDeps(deps: AgentsDeps): RunsDeps {
  const runs = deps.database.bind(runStore);
  return {
    ...deps,
    runs,
    async findRun(caller, id) {
      const run = await runs.find(id, accountOf(caller));
      if (!run) throw apiError("run_not_found");
      return run;
    },
    refuseForeign: {
      async agent(id, account_id) {
        const agent = await runs.findStartable(id);
        if (agent?.account_id !== account_id) throw apiError("agent_not_found");
      },
      async thread(id, account_id) {
        const owner = await runs.findThreadOwner(id);
        if (owner !== account_id) throw apiError("thread_not_found");
      },
    },
  };
}
