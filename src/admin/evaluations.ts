// Evaluations of agents of every account.
import {
  createAgentQueries,
  createOperatorEvaluations,
  type StartEvaluation,
} from "../agents/index.ts";
import { requireAgent } from "./agents.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { explainApiError } from "./errors.ts";
import { createRunStarts, type RunActor } from "./run-starts.ts";

export function createEvaluationAdmin(deps: AdminDeps) {
  const evaluations = createOperatorEvaluations({ ...deps, disk: openDisk(deps) });
  const agents = createAgentQueries(deps.database);
  const { findCaller } = createRunStarts(deps);
  return {
    /** Starts one whose reruns act for a key. */
    async start(agent: string, { key, operator }: RunActor, asked: StartEvaluation) {
      const { caller, agent_id } = await findCaller(agent, key);
      const { key_id, account_id } = caller;
      return explainApiError(() =>
        evaluations.start({ key_id, account_id: account_id!, operator }, agent_id, asked),
      );
    },
    /** The newest of an agent. */
    async list(typed: string, limit: number) {
      const { id, account_id } = await requireAgent(agents, typed);
      return evaluations.list(id, account_id, { before: null, limit });
    },
    find: (id: string) => explainApiError(() => evaluations.find(id.toLowerCase(), null)),
    cancel: (id: string) => explainApiError(() => evaluations.cancel(id.toLowerCase(), null)),
  };
}
