// Starts of runs by operators, for a key of the agent's account.
import { createOperatorStarts, type RerunRun, type RunRow } from "../agents/index.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { AdminError, explainApiError, requireById } from "./errors.ts";

export interface RunActor {
  /** Id of the key that the run acts for; null: the one that made the agent's version. */
  key: string | null;
  operator: string;
}

export interface OperatorRunStart extends RunActor {
  agent: string;
  message: string;
  /** Addresses of images. */
  images?: readonly string[];
  metadata?: Record<string, string>;
}

export function createRunStarts(deps: AdminDeps) {
  const { access } = deps;
  const starts = createOperatorStarts({ ...deps, disk: openDisk(deps) });

  /** Finds the key that a run of the agent acts for, with its present rights. */
  const findCaller = async (agent: string, key: string | null) => {
    const found = await requireById("agent", agent, starts.findAgent);
    const key_id = key ?? found.created_by_key_id;
    if (key_id === null) {
      throw new AdminError(
        `version ${found.version} of the agent names no key: give one with --key`,
      );
    }
    const { id, account_id } = await requireById("key", key_id, access.keys.findById);
    if (account_id !== found.account_id) {
      throw new AdminError("that key is not of the agent's account: give another with --key");
    }
    const caller = await access.findCaller(id);
    if (!caller) {
      const whose = key === null ? ", which made the agent's version," : "";
      throw new AdminError(
        `the key "${id}"${whose} is revoked, expired or internal: give another with --key`,
        "conflict",
      );
    }
    return { caller, agent_id: found.agent_id };
  };
  return {
    findCaller,
    /** Starts a run for a key, which may not decide its approvals. */
    async start(asked: OperatorRunStart): Promise<RunRow> {
      const { agent, key, message, images = [], ...request } = asked;
      const { caller, agent_id } = await findCaller(agent, key);
      return explainApiError(async () => {
        const question = starts.readQuestion(message, images);
        return starts.start(caller, { ...request, ...question, agent_id });
      });
    },
    /** Starts a run with the same input; `how` makes it one that repeats the record. */
    async startAgain(run: RunRow, how: RerunRun | null, actor: RunActor): Promise<RunRow> {
      const key = actor.key ?? run.started_by_key_id;
      const { caller, agent_id } = await findCaller(run.agent_id, key);
      return explainApiError(async () => {
        const request = how ? await starts.planRerun(run, how) : await starts.readInput(run);
        return starts.start(caller, { ...request, agent_id, operator: actor.operator });
      });
    },
  };
}
