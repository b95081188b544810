// Starts of runs by operators, on a database that a server may be using.
import type { Caller } from "../../access/index.ts";
import { GuardedEgress } from "../../net/index.ts";
import { agentStore } from "../definitions/store.ts";
import { createOperatorDeps, type OperatorDepsOptions } from "../operator-deps.ts";
import { createShownCatalog } from "../tools/catalog.ts";
import { createPriceOf } from "../tools/prices.ts";
import { readImageQuestion } from "./question.ts";
import { planRerun, type RerunRun, readInput } from "./rerun.ts";
import type { RunRow } from "./run.ts";
import { type RunRequest, RunStarter } from "./start.ts";
import { runStore } from "./store/index.ts";

export interface OperatorStart extends RunRequest {
  agent_id: string;
  operator: string;
}

export function createOperatorStarts(options: OperatorDepsOptions) {
  const deps = createOperatorDeps(options);
  const { database, settings, clock } = deps;
  const egress = new GuardedEgress({ clock, allow: () => settings().egress.allow });
  const agents = database.bind(agentStore);
  const runs = database.bind(runStore);
  const starter = new RunStarter(deps, {
    runs,
    findVersion: agents.findVersion,
    priceOf: createPriceOf(settings, createShownCatalog()),
  });
  return {
    /** Finds the owner of an agent, its current version and the key that made that. */
    async findAgent(id: string) {
      const agent = await runs.findStartable(id);
      const version = agent && (await agents.findVersion(id, agent.current_version));
      return version && { account_id: agent.account_id, ...version };
    },
    /** Reads a message and the addresses of images beside it. */
    readQuestion: (message: string, images: readonly string[]) =>
      readImageQuestion(message, [...images], (url) => egress.validate(url)),
    readInput: (run: RunRow) => readInput(runs, run),
    planRerun: (run: RunRow, how: RerunRun) => planRerun({ runs, ids: deps.ids }, run, how),
    /** Checks a run of a trigger, whose fire starts it. */
    prepare: starter.prepare.bind(starter),
    /** The run acts for the caller; throws what the route of starts answers with. */
    async start(caller: Caller, { agent_id, ...request }: OperatorStart): Promise<RunRow> {
      return (await starter.start(caller, agent_id, request)).run;
    },
  };
}
