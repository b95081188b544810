// Starts runs: judges who may start which agent with which model, and hands over to the store.

import type { Caller } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { ConcurrencyLimit } from "../../platform/concurrency-limit.ts";
import { apiError } from "../../platform/errors.ts";
import { requireModel } from "../definitions/validation.ts";
import type { FindVersion } from "../definitions/versions.ts";
import type { AgentsDeps } from "../deps.ts";
import { freezePrices, type PriceOf } from "./prices.ts";
import type { RunRow, TriggerKind } from "./run.ts";
import { lowerBudgets, type StartRun } from "./start-request.ts";
import type { Admission, Idempotency, Started } from "./store/admission.ts";
import type { runStore } from "./store/index.ts";
import type { Startable } from "./store/startable.ts";

/** A run as it is wished for, by a request or by a trigger's fire. */
export interface RunRequest {
  message: string;
  /** The body of a hook, which is content from outside; left out: there is none. */
  hook?: unknown;
  thread_id?: string | null;
  metadata?: Record<string, string>;
  budgets?: StartRun["budgets"];
  /** Left out: `manual`, of no trigger. */
  trigger?: { kind: TriggerKind; id: string; fire_id: string; fired_by_key_id: string | null };
}

export interface StarterOptions {
  runs: Bound<typeof runStore>;
  findVersion: FindVersion;
  priceOf: PriceOf;
}

export interface RunStarter {
  /** Judges and writes; refuses in the order of the route. */
  start(caller: Caller, agent_id: string, wish: RunRequest, again?: Idempotency): Promise<Started>;
  /** Judges all that the transaction does not: for who starts a run inside one of its own. */
  prepare(caller: Caller, agent_id: string, wish: RunRequest): Promise<Admission>;
}

/** Starts of one account that wait for its one counter; more would only wait longer. */
const IN_FLIGHT_MAX = 64;
const BUSY_RETRY_S = "1";

export function createRunStarter(
  deps: AgentsDeps,
  { runs, findVersion, priceOf }: StarterOptions,
): RunStarter {
  const { clock, ids, inside, alias } = deps;
  const write = boundStarts(runs);

  const admit = async (
    caller: Caller,
    agent: Startable,
    agent_id: string,
    wish: RunRequest,
  ): Promise<Admission> => {
    // agents.errors.agent_held
    if (agent.is_held) throw apiError("agent_held");
    if (agent.status !== "active") throw apiError("agent_archived");
    const version = await findVersion(agent_id, agent.current_version);
    // agents.errors.agent_version_not_found
    if (!version) throw apiError("agent_version_not_found");
    const budgets = lowerBudgets(version.budgets, wish.budgets);
    const model = await requireModel(inside.chat, version.model, alias, caller);
    deps.disk.require();
    const { active_runs, daily_runs, stored_bytes } = deps.settings().limits;
    const thread_id = wish.thread_id ?? null;
    const run: RunRow = {
      ...START,
      id: ids.uuid(),
      agent_id,
      version: version.version,
      thread_id: thread_id ?? ids.uuid(),
      trigger_kind: wish.trigger?.kind ?? "manual",
      trigger_id: wish.trigger?.id ?? null,
      fire_id: wish.trigger?.fire_id ?? null,
      input:
        "hook" in wish ? { message: wish.message, hook: wish.hook } : { message: wish.message },
      cost: { ...NOTHING, prices: freezePrices(model, version.tool_revisions, priceOf) },
      external_content: "hook" in wish,
      metadata: wish.metadata ?? {},
      started_by_key_id: caller.key_id,
      fired_by_key_id: wish.trigger?.fired_by_key_id ?? null,
      created_at: clock.now(),
      account_id: agent.account_id,
      model: model.id,
      budgets,
    };
    const limits = { active_runs, daily_runs, stored_bytes };
    const hook_message_id = run.external_content ? ids.uuid() : null;
    const message_ids = { message_id: ids.uuid(), hook_message_id };
    return { run, thread_id, ...message_ids, limits, idempotency: null };
  };

  return {
    async start(caller, agent_id, wish, again) {
      const agent = await findAgent(runs, caller, agent_id);
      if (again) {
        // Whatever has become of agent and key since: the run was accepted then.
        const { account_id } = agent;
        const run = await runs.findStarted(account_id, agent_id, again, clock.now());
        if (run) return { run, isNew: false };
      }
      const admission = await admit(caller, agent, agent_id, wish);
      return write(again ? { ...admission, idempotency: again } : admission);
    },
    async prepare(caller, agent_id, wish) {
      return admit(caller, await findAgent(runs, caller, agent_id), agent_id, wish);
    },
  };
}

/** agents.errors.admission_busy: writes no more starts of an account at once than make sense. */
function boundStarts(runs: Bound<typeof runStore>) {
  const starts = new ConcurrencyLimit(IN_FLIGHT_MAX);
  return async (admission: Admission): Promise<Started> => {
    const release = starts.take(admission.run.account_id);
    if (!release) throw apiError("admission_busy", { headers: { "retry-after": BUSY_RETRY_S } });
    try {
      return await runs.start(admission);
    } finally {
      release();
    }
  };
}

/** agents.errors.agent_not_found, agents.authentication.4: before what a request says again. */
async function findAgent(
  runs: Bound<typeof runStore>,
  caller: Caller,
  agent_id: string,
): Promise<Startable> {
  // It owns no agent either: behind the 404 nobody would ever be told this.
  if (caller.account_id === null) {
    throw apiError("permission_denied", { message: "A key without an owner starts no runs." });
  }
  const agent = await runs.findStartable(agent_id);
  if (agent?.account_id !== caller.account_id) throw apiError("agent_not_found");
  return agent;
}

/** Nothing used costs nothing, and that is known. */
const NOTHING = { model: 0, tools: 0, total: 0 };
const UNUSED = {
  ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ...{ rounds: 0, tool_calls: 0 },
};

/** agents.states.none_post_v1_agents_id_runs; its number and place the transaction knows. */
const START = {
  status: "queued" as const,
  cancel_requested: false,
  ...{ output: null, error: null, usage: UNUSED, pending_approvals: [], recoveries: 0 },
  ...{ started_at: null, finished_at: null },
  ...{ number: 0, epoch: 0, last_seq: 0, message_seq: 0, priced: 0, worked_ms: 0 },
  crashes: 0,
};
