// What the routes of runs share: the store, and objects that are the caller's or are not found.
import { accountOf, type Caller } from "../../access/index.ts";
import type { Bound } from "../../platform/database/index.ts";
import { refuse } from "../../platform/refusal.ts";
import type { Around } from "../around.ts";
import type { RunRow } from "./run.ts";
import { runStore } from "./store/index.ts";

export interface RunsAround extends Around {
  runs: Bound<typeof runStore>;
  /** agents.errors.run_not_found, agents.authentication.6 */
  findRun(caller: Caller, id: string): Promise<RunRow>;
  /** Refuses an id that stands beside what is asked for as if there were no such object. */
  refuseForeign: Readonly<
    Record<"agent" | "thread", (id: string, account_id: string) => Promise<void>>
  >;
}

export function createRunsAround(around: Around): RunsAround {
  const runs = around.database.bind(runStore);
  return {
    ...around,
    runs,
    async findRun(caller, id) {
      const run = await runs.find(id, accountOf(caller));
      if (!run) throw refuse("run_not_found");
      return run;
    },
    refuseForeign: {
      async agent(id, account_id) {
        const agent = await runs.findStartable(id);
        if (agent?.account_id !== account_id) throw refuse("agent_not_found");
      },
      async thread(id, account_id) {
        const owner = await runs.findThreadOwner(id);
        if (owner !== account_id) throw refuse("thread_not_found");
      },
    },
  };
}
