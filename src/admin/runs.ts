// Runs of every account: list, show, steps.
import { type Static, Type } from "@sinclair/typebox";
import type { Account } from "../access/index.ts";
import {
  createAgentQueries,
  createRunQueries,
  type RunQueries,
  type Status,
} from "../agents/index.ts";
import { Money, maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import { requireAgent } from "./agents.ts";
import type { AdminDeps } from "./deps.ts";
import { requireById } from "./errors.ts";

export const ListedRun = Resource("ListedRun", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "Agent of the run." }),
  status: Type.String({ description: "Status of the run." }),
  trigger_kind: Type.String({ description: "Kind of its start." }),
  rounds: Type.Integer({ description: "Model rounds." }),
  tool_calls: Type.Integer({ description: "Executed tool calls." }),
  cost: maybe(Money("SAR, where known.")),
  created_at: Timestamp("Time of acceptance."),
  finished_at: maybe(Timestamp("End of the run.")),
});

type ListedRunRow = Static<typeof ListedRun>;

export interface RunListOptions {
  account: string | null;
  agent: string | null;
  status: Status | null;
  limit: number;
}

type ListedStep = Awaited<ReturnType<RunQueries["listSteps"]>>[number];

const STEPS_AT_ONCE = 100;

export function createRunAdmin({ database }: AdminDeps, directory: AccountDirectory) {
  const agents = createAgentQueries(database);
  const runs = createRunQueries(database);
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
      const found: ListedRunRow[] = [];
      for (const account of await listAccounts(request)) {
        const rows = await runs.list({ account_id: account.id, agent_id, status, limit });
        for (const run of rows) {
          const { rounds, tool_calls } = run.usage;
          found.push({ ...run, account: account.name, rounds, tool_calls, cost: run.cost.total });
        }
      }
      found.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
      return found.slice(0, limit);
    },
    require: requireRun,
    /** Lists a run's steps after the one of that number. */
    async listSteps(typed: string, after: number, limit = STEPS_AT_ONCE): Promise<ListedStep[]> {
      const { id } = await requireRun(typed);
      return runs.listSteps(id, after, limit);
    },
  };
}
