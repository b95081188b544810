// Evaluations of agents of every account.
import { createOperatorEvaluations, type StartEvaluation } from "../agents/index.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { explainApiError } from "./errors.ts";
import { createRunStarts, type RunActor } from "./run-starts.ts";

export function createEvaluationAdmin(deps: AdminDeps) {
  const evaluations = createOperatorEvaluations({ ...deps, disk: openDisk(deps) });
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
    find: (id: string) => explainApiError(() => evaluations.find(id.toLowerCase(), null)),
    cancel: (id: string) => explainApiError(() => evaluations.cancel(id.toLowerCase(), null)),
  };
}
