// Dependencies that the routes of runs and approvals share, with ownership checks and cancelling.
import { accountOf, type Caller } from "../../access/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import type { RunRow } from "./run.ts";
import { countFinishIds } from "./store/finish.ts";
import { type RunStore, runStore } from "./store/index.ts";

export interface RunsDeps extends AgentsDeps {
  runs: RunStore;
  /** agents.errors.run_not_found, agents.authentication.6 */
  findRun(caller: Caller, id: string): Promise<RunRow>;
  /** Rejects ids in filters that belong to another account, as not found. */
  requireOwned: Readonly<
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
    requireOwned: {
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

/** Spare ids for approvals that the run requests between the read and the cancel. */
const APPROVALS_SPARE = 128;

/** Cancels a run and returns it as it is then; undefined if it was deleted meanwhile. */
export function cancelRun(
  { runs, ids, clock }: Pick<RunsDeps, "runs" | "ids" | "clock">,
  run: RunRow,
): Promise<RunRow | undefined> {
  const length = countFinishIds(run.pending_approvals.length + APPROVALS_SPARE);
  const fresh = Array.from({ length }, ids.uuid);
  return runs.cancel(run.id, run.account_id, fresh, clock.now());
}
