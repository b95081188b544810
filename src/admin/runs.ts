// Runs of every account: list, show with steps, follow live.
import { type Static, Type } from "@sinclair/typebox";
import type { Account } from "../access/index.ts";
import {
  createAgentQueries,
  createRunQueries,
  FINAL,
  type RunQueries,
  type Status,
} from "../agents/index.ts";
import { wait } from "../platform/clock.ts";
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

export interface Follower {
  onStep(step: ListedStep): void;
  onWaiting(approvals: readonly string[]): void;
}

type ListedStep = Awaited<ReturnType<RunQueries["listSteps"]>>[number];

/** Interval between reads: another process writes the steps. */
const POLL_INTERVAL_MS = 200;
const STEPS_AT_ONCE = 100;

export function createRunAdmin({ database, clock }: AdminDeps, directory: AccountDirectory) {
  const agents = createAgentQueries(database);
  const runs = createRunQueries(database);
  const listAccounts = async ({ account, agent }: RunListOptions): Promise<Account[]> => {
    const selected = await directory.select(account);
    if (agent === null) return selected;
    const { account_id } = await requireAgent(agents, agent);
    return selected.filter(({ id }) => id === account_id);
  };
  const requireRun = (typed: string) => requireById("run", typed, "wadi runs list", runs.find);
  const reportSteps = async (id: string, afterSeq: number, onStep: (step: ListedStep) => void) => {
    let seq = afterSeq;
    for (;;) {
      const steps = await runs.listSteps(id, seq, STEPS_AT_ONCE);
      const last = steps.at(-1);
      if (!last) return seq;
      for (const step of steps) onStep(step);
      seq = last.seq;
    }
  };

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
    async show(typed: string) {
      const run = await requireRun(typed);
      const steps: ListedStep[] = [];
      await reportSteps(run.id, 0, (step) => steps.push(step));
      return { run, steps };
    },
    /** Reports steps until the run is final, and each approval it waits for once. */
    async follow(typed: string, { onStep, onWaiting }: Follower) {
      const { id } = await requireRun(typed);
      let reportedAt = 0;
      const reported = new Set<string>();
      const reportWaiting = async () => {
        const { pending_approvals } = await requireRun(id);
        const fresh = pending_approvals.filter((one) => !reported.has(one));
        for (const one of fresh) reported.add(one);
        if (fresh.length > 0) onWaiting(fresh);
      };
      for (let seq = 0; ; ) {
        // Read first: a final run writes no more steps.
        const status = await runs.findStatus(id);
        seq = await reportSteps(id, seq, onStep);
        if (status === undefined || FINAL.has(status)) return requireRun(id);
        if (status === "waiting_approval" && seq > reportedAt) {
          reportedAt = seq;
          await reportWaiting();
        }
        await wait(clock, POLL_INTERVAL_MS);
      }
    },
  };
}
