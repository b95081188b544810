// Runs of every account: list, show, steps.
import { type Static, Type } from "@sinclair/typebox";
import type { Account } from "../access/index.ts";
import {
  createAgentQueries,
  createOperatorStarts,
  createRunQueries,
  Run,
  type RunQueries,
  RunRow,
  type Status,
} from "../agents/index.ts";
import { Money, maybe, Resource, Timestamp } from "../platform/schema.ts";
import { DiskSpace } from "../storage/index.ts";
import { type AccountDirectory, walkAccounts } from "./accounts.ts";
import { nameAgents, requireAgent } from "./agents.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, explainApiError, requireById, unknownId } from "./errors.ts";

export const ListedRun = Resource("ListedRun", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "Agent of the run." }),
  agent_name: maybe(Type.String({ description: "Its name; null: it was deleted." })),
  title: Type.String({ description: "First line of the message, at most 120 characters." }),
  status: Type.String({ description: "Status of the run." }),
  trigger_kind: Type.String({ description: "Kind of its start." }),
  rounds: Type.Integer({ description: "Model rounds." }),
  tool_calls: Type.Integer({ description: "Executed tool calls." }),
  cost: maybe(Money("SAR, where known.")),
  created_at: Timestamp("Time of acceptance."),
  finished_at: maybe(Timestamp("End of the run.")),
});

type FoundRun = Omit<Static<typeof ListedRun>, "agent_name"> & { account_id: string };

const TITLE_CHARACTERS_MAX = 120;

export interface RunListOptions {
  account: string | null;
  agent: string | null;
  status: Status | null;
  limit: number;
}

/** A run with what only operators see. */
export const OperatorRun = Type.Object({
  ...Run.properties,
  started_by_operator: RunRow.properties.started_by_operator,
});

type ListedStep = Awaited<ReturnType<RunQueries["listSteps"]>>[number];

const STEPS_AT_ONCE = 100;

export interface OperatorRunStart {
  agent: string;
  message: string;
  /** Id of the key that the run acts for; null: the one that made the agent's version. */
  key: string | null;
  operator: string;
}

export function createRunAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { database } = deps;
  const agents = createAgentQueries(database);
  const runs = createRunQueries(deps);
  const starts = createRunStarts(deps);
  const listAccounts = async ({ account, agent }: RunListOptions): Promise<Account[]> => {
    const selected = await directory.select(account);
    if (agent === null) return selected;
    const { account_id } = await requireAgent(agents, agent);
    return selected.filter(({ id }) => id === account_id);
  };
  const requireRun = (typed: string) => requireById("run", typed, runs.find);

  return {
    async list(request: RunListOptions) {
      const { limit, status } = request;
      const agent_id = request.agent?.toLowerCase() ?? null;
      const found: FoundRun[] = [];
      for await (const account of walkAccounts(await listAccounts(request))) {
        const rows = await runs.list({ account_id: account.id, agent_id, status, limit });
        for (const run of rows) {
          const { rounds, tool_calls } = run.usage;
          const title = run.input.message.split("\n", 1)[0]!.slice(0, TITLE_CHARACTERS_MAX);
          const shown = { ...run, account: account.name, title };
          found.push({ ...shown, rounds, tool_calls, cost: run.cost.total });
        }
      }
      found.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
      return nameAgents(agents, found.slice(0, limit));
    },
    require: requireRun,
    find: runs.find,
    start: starts,
    /** `isChanged` is false for a run that had ended, or was asked to stop before. */
    async cancel(typed: string) {
      const found = await requireRun(typed);
      const run = (await runs.cancel(found)) ?? unknownId("run", found.id);
      const isChanged =
        run.status !== found.status || run.cancel_requested !== found.cancel_requested;
      return { run, isChanged };
    },
    /** Lists a run's steps after the one of that number. */
    async listSteps(typed: string, after: number, limit = STEPS_AT_ONCE): Promise<ListedStep[]> {
      const { id } = await requireRun(typed);
      return runs.listSteps(id, after, limit);
    },
  };
}

function createRunStarts(deps: AdminDeps) {
  const { access, settings, place, clock } = deps;
  const disk = new DiskSpace(place, clock, () => settings.limits.free_disk_bytes);
  const starts = createOperatorStarts({ ...deps, disk });

  /** Starts a run with the present rights of a key, which may not decide its approvals. */
  return async ({ agent, message, key, operator }: OperatorRunStart): Promise<RunRow> => {
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
    return explainApiError(() =>
      starts.start(caller, { agent_id: found.agent_id, message, operator }),
    );
  };
}
