// Starts of runs by operators, for a key of the agent's account.
import { createOperatorStarts, type RunRequest, type RunRow } from "../agents/index.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { AdminError, explainApiError, requireById } from "./errors.ts";

export interface OperatorRunStart
  extends Pick<RunRequest, "message" | "content" | "images" | "hook"> {
  agent: string;
  /** Id of the key that the run acts for; null: the one that made the agent's version. */
  key: string | null;
  operator: string;
}

export function createRunStarts(deps: AdminDeps) {
  const { access } = deps;
  const starts = createOperatorStarts({ ...deps, disk: openDisk(deps) });

  /** Starts a run with the present rights of a key, which may not decide its approvals. */
  return async ({ agent, key, ...request }: OperatorRunStart): Promise<RunRow> => {
    const found = await requireById("agent", agent, starts.findAgent);
    const key_id = key ?? found.created_by_key_id;
    if (key_id === null) {
      throw new AdminError(
        `version ${found.version} of the agent names no key: give one with --key`,
      );
    }
    const { account_id } = await requireById("key", key_id, access.keys.findById);
    if (account_id !== found.account_id) {
      throw new AdminError("that key is not of the agent's account: give another with --key");
    }
    const caller = await access.findCaller(key_id.toLowerCase());
    if (!caller) {
      const whose = key === null ? ", which made the agent's version," : "";
      throw new AdminError(
        `the key "${key_id}"${whose} is revoked, expired or internal: give another with --key`,
        "conflict",
      );
    }
    return explainApiError(() => starts.start(caller, { agent_id: found.agent_id, ...request }));
  };
}
