// Runs of every account: list, show with steps, follow live.
import { type Static, Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import { type AgentQueries, FINAL, type RunQueries, type Status } from "../agents/index.ts";
import { type Clock, wait } from "../platform/clock.ts";
import { Money, maybe, Resource, Timestamp } from "../platform/schema.ts";
import { AdminError, readId } from "./errors.ts";

export const ListedRun = Resource("ListedRun", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "Its agent." }),
  status: Type.String({ description: "Where it stands." }),
  trigger_kind: Type.String({ description: "What started it." }),
  rounds: Type.Integer({ description: "Model rounds." }),
  tool_calls: Type.Integer({ description: "Tool calls that were run." }),
  cost: maybe(Money("SAR; null: unknown.")),
  created_at: Timestamp("When it was accepted."),
  finished_at: maybe(Timestamp("When it ended; null: it has not.")),
});

type ListedRunRow = Static<typeof ListedRun>;

export interface RunListOptions {
  account: string | null;
  agent: string | null;
  status: Status | null;
  limit: number;
}

export interface RunAdminOptions {
  access: Pick<Access, "accounts">;
  agents: AgentQueries;
  runs: RunQueries;
  clock: Clock;
  requireAccount(name: string): Promise<Account>;
}

export interface Follower {
  onStep(step: ListedStep): void;
  /** Ids of the approvals that the run waits for now. */
  onWaiting(approvals: readonly string[]): void;
}

type ListedStep = Awaited<ReturnType<RunQueries["listSteps"]>>[number];

/** Interval between reads: another process writes the steps. */
const POLL_INTERVAL_MS = 200;
/** Maximum steps of one read. */
const STEPS_AT_ONCE = 100;

export function createRunAdmin(options: RunAdminOptions) {
  const { access, agents, runs, clock, requireAccount } = options;

  const listAccounts = async ({ account, agent }: RunListOptions): Promise<Account[]> => {
    const wanted =
      account === null ? await access.accounts.list() : [await requireAccount(account)];
    if (agent === null) return wanted;
    const owner = await agents.findOwner(readId(agent, "agent's id", "wadi agents list"));
    if (owner !== undefined) return wanted.filter(({ id }) => id === owner);
    throw new AdminError(`there is no agent "${agent}": see \`wadi agents list\``);
  };
  const requireRun = async (typed: string) => {
    const id = readId(typed, "run's id", "wadi runs list");
    const run = await runs.find(id);
    if (run) return run;
    throw new AdminError(`there is no run "${id}": see \`wadi runs list\``);
  };
  /** Reports every step after a number; returns the last number. */
  const reportSteps = async (id: string, after_seq: number, onStep: (step: ListedStep) => void) => {
    let seq = after_seq;
    for (;;) {
      const steps = await runs.listSteps(id, seq, STEPS_AT_ONCE);
      const last = steps.at(-1);
      if (!last) return seq;
      for (const step of steps) onStep(step);
      seq = last.seq;
    }
  };

  return {
    /** Newest first. */
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
    /** A run and all its steps. */
    async show(typed: string) {
      const run = await requireRun(typed);
      const steps: ListedStep[] = [];
      await reportSteps(run.id, 0, (step) => steps.push(step));
      return { run, steps };
    },
    /** Reports steps until the run is final, and each approval it waits for once. */
    async follow(typed: string, { onStep, onWaiting }: Follower) {
      const { id } = await requireRun(typed);
      let told_at = 0;
      const told = new Set<string>();
      const reportWaiting = async () => {
        const { pending_approvals } = await requireRun(id);
        const fresh = pending_approvals.filter((one) => !told.has(one));
        for (const one of fresh) told.add(one);
        if (fresh.length > 0) onWaiting(fresh);
      };
      for (let seq = 0; ; ) {
        // Read first: a final run writes no more steps.
        const status = await runs.findStatus(id);
        seq = await reportSteps(id, seq, onStep);
        if (status === undefined || FINAL.has(status)) return requireRun(id);
        if (status === "waiting_approval" && seq > told_at) {
          told_at = seq;
          await reportWaiting();
        }
        await wait(clock, POLL_INTERVAL_MS);
      }
    },
  };
}
