// Evaluations started and read by operators, on a database that a server may be using.
import { agentStore } from "../definitions/store.ts";
import { createOperatorDeps, type OperatorDepsOptions } from "../operator-deps.ts";
import { runStore } from "../runs/store/index.ts";
import { Evaluations } from "./evaluations.ts";
import { evaluationStore } from "./store.ts";

/** A server on the database carries them out. */
export function createOperatorEvaluations(options: OperatorDepsOptions): Evaluations {
  const deps = createOperatorDeps(options);
  const { database } = deps;
  return new Evaluations({
    ...deps,
    runs: database.bind(runStore),
    evaluations: database.bind(evaluationStore),
    findVersion: database.bind(agentStore).findVersion,
  });
}
