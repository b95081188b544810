// Runs of every account: list, show, steps.
import { type Static, Type } from "@sinclair/typebox";
import {
  createAgentQueries,
  createRunQueries,
  measureRun,
  type OverviewRow,
  type RerunRun,
  type RunPage,
  type RunQueries,
  type RunSearch,
  readTitle,
  type Status,
  type TriggerKind,
} from "../agents/index.ts";
import { Money, maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import { nameAgents, requireAgent } from "./agents.ts";
import type { AdminDeps } from "./deps.ts";
import { requireById, unknownId } from "./errors.ts";
import { createRunStarts, type RunActor } from "./run-starts.ts";
import { createRunView, SPANS } from "./run-view.ts";
import { requireTime } from "./time.ts";

export const ListedRun = Resource("ListedRun", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "Agent of the run." }),
  agent_name: maybe(Type.String({ description: "Its name; null: it was deleted." })),
  version: Type.Integer({ description: "Version of the agent." }),
  title: Type.String({ description: "First line of the message, at most 120 characters." }),
  status: Type.String({ description: "Status of the run." }),
  error_code: maybe(Type.String({ description: "Why it ended early; null: it did not." })),
  trigger_kind: Type.String({ description: "Kind of its start." }),
  trigger_id: maybe(Type.String({ description: "Trigger that started it; null: none." })),
  rounds: Type.Integer({ description: "Model rounds." }),
  tool_calls: Type.Integer({ description: "Executed tool calls." }),
  total_tokens: Type.Integer({ description: "Tokens read and written." }),
  cost: maybe(Money("SAR, where known.")),
  created_at: Timestamp("Time of acceptance."),
  started_at: maybe(Timestamp("Begin of the run; null: it is queued.")),
  finished_at: maybe(Timestamp("End of the run.")),
  ...SPANS,
});
type ListedRun = Static<typeof ListedRun>;

const runs = (what: string) => Type.Optional(Type.Integer({ description: `Runs that ${what}.` }));

export const RunCount = Type.Object({
  counts: Type.Object(
    {
      queued: runs("wait to begin"),
      running: runs("run"),
      waiting_approval: runs("wait for a person"),
      succeeded: runs("succeeded"),
      failed: runs("failed"),
      budget_exceeded: runs("were stopped by a budget"),
      cancelled: runs("were cancelled"),
    },
    { description: "By status; a status without runs is left out." },
  ),
  is_partial: Type.Boolean({
    description: "true: it has counted 100,000 runs, and left out older ones.",
  }),
});

/** A search as it was typed; null matches every run. */
export interface TypedRunSearch {
  account: string | null;
  agent: string | null;
  status: Status | null;
  trigger_kind: TriggerKind | null;
  /** A day, an instant or a duration before now. */
  since: string | null;
  text: string | null;
  metadata: RunSearch["metadata"];
}

export type RunListOptions = TypedRunSearch & Pick<RunPage, "stage" | "before" | "limit">;

type ListedStep = Awaited<ReturnType<RunQueries["listSteps"]>>[number];

const STEPS_AT_ONCE = 100;

export function createRunAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { database, clock } = deps;
  const agents = createAgentQueries(database);
  const runs = createRunQueries(deps);
  const starts = createRunStarts(deps);
  const view = createRunView(deps, directory);
  /** Returns undefined where the agent is not of the account: no run matches. */
  const readSearch = async (typed: TypedRunSearch): Promise<RunSearch | undefined> => {
    const { account, agent, status, trigger_kind, since, text, metadata } = typed;
    const asked = account === null ? null : (await directory.require(account)).id;
    const found = agent === null ? null : await requireAgent(agents, agent);
    if (asked !== null && found !== null && found.account_id !== asked) return undefined;
    return {
      account_id: found?.account_id ?? asked,
      agent_id: found?.id ?? null,
      ...{ status, trigger_kind, text, metadata },
      since: since === null ? null : requireTime(since, clock.now()),
    };
  };
  const requireRun = (typed: string) => requireById("run", typed, runs.find);

  return {
    async list({ stage, before, limit, ...typed }: RunListOptions): Promise<ListedRun[]> {
      const search = await readSearch(typed);
      const found = search ? await runs.list({ ...search, stage, before, limit }) : [];
      const accounts = await directory.names();
      const now = clock.now();
      const named = await nameAgents(agents, found);
      return named.map((run) => describeRow(run, accounts.get(run.account_id) ?? "", now));
    },
    async count(typed: TypedRunSearch) {
      const search = await readSearch(typed);
      return search ? runs.count(search) : { counts: {}, isPartial: false };
    },
    require: requireRun,
    find: runs.find,
    readLive: async (run_id: string) => deps.readLive?.(run_id),
    start: starts.start,
    describe: view.describe,
    async startAgain(typed: string, how: RerunRun | null, actor: RunActor) {
      return starts.startAgain(await requireRun(typed), how, actor);
    },
    async compare(one: string, other: string) {
      return runs.compare(await requireRun(one), await requireRun(other));
    },
    async readRound(typed: string, round: number) {
      return view.readRound(await requireRun(typed), round);
    },
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

function describeRow(
  run: OverviewRow & { agent_name: string | null },
  account: string,
  now: number,
): ListedRun {
  const { queued, worked, waited } = measureRun(run, now);
  return {
    ...run,
    account,
    title: readTitle(run.input_begin),
    error_code: run.error?.code ?? null,
    ...{ rounds: run.usage_rounds, tool_calls: run.usage_tool_calls },
    ...{ total_tokens: run.usage_total_tokens, cost: run.cost_total },
    ...{ queued_ms: queued, worked_ms: worked, waited_ms: waited },
  };
}
