// Starts runs: checks who may start which agent with which model, and hands over to the store.
import type { Caller } from "../../access/index.ts";
import type { ModelCheck } from "../../gateway/index.ts";
import { ConcurrencyLimit } from "../../platform/concurrency-limit.ts";
import { apiError } from "../../platform/errors.ts";
import { shorten } from "../../platform/text.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { requireModel } from "../definitions/validation.ts";
import type { FindVersion } from "../definitions/version-cache.ts";
import type { AgentsDeps } from "../deps.ts";
import { listImages, type MessagePart } from "../threads/parts.ts";
import { freezePrices, type PriceOf } from "./cost.ts";
import { listFetched } from "./images.ts";
import type { RunRow, TriggerKind } from "./run.ts";
import { lowerBudgets, type StartRun } from "./start-request.ts";
import type { StoredImage } from "./store/images.ts";
import type { RunStore } from "./store/index.ts";
import type { Idempotency, PreparedRun, Startable, Started, ThreadHistory } from "./store/start.ts";

export interface RunRequest {
  message: string;
  /** Texts and images of the message, if it has images. */
  content?: MessagePart[];
  /** Images that came with the request. */
  images?: readonly StoredImage[];
  /** Body of a hook that the run gets, too. */
  hook?: unknown;
  thread_id?: string | null;
  metadata?: Record<string, string>;
  budgets?: StartRun["budgets"];
  /** Name of the operator who starts it for the key. */
  operator?: string;
  /** Number of the version; absent: the current one. */
  version?: number | undefined;
  rerun?: Rerun;
  trigger?: { kind: TriggerKind; id: string; fire_id: string; fired_by_key_id: string | null };
}

export interface Rerun extends Pick<RunRow, "rerun_of" | "rerun_tools" | "rerun_from_round"> {
  history: ThreadHistory | null;
}

export type RunStarterDeps = Pick<AgentsDeps, "clock" | "ids" | "alias" | "disk" | "settings"> & {
  internal: { chat: ModelCheck };
};

export interface RunStarterOptions {
  runs: RunStore;
  findVersion: FindVersion;
  priceOf: PriceOf;
  /** Called for each start, before it is written. */
  onStart?(caller: Caller): void;
}

/** Maximum concurrent starts of an account, which wait for its one counter. */
const IN_FLIGHT_MAX = 64;
const BUSY_RETRY_S = "1";

export class RunStarter {
  readonly #deps: RunStarterDeps;
  readonly #options: RunStarterOptions;
  readonly #inFlight = new ConcurrencyLimit(IN_FLIGHT_MAX);

  constructor(deps: RunStarterDeps, options: RunStarterOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Checks and writes a start; errors come in the order of the route. */
  async start(
    caller: Caller,
    agent_id: string,
    request: RunRequest,
    idempotency?: Idempotency,
  ): Promise<Started> {
    const { runs } = this.#options;
    const agent = await this.#findAgent(caller, agent_id);
    if (idempotency) {
      // A repeated request succeeds even if its agent or key has changed since.
      const now = this.#deps.clock.now();
      const run = await runs.findStarted(agent.account_id, agent_id, idempotency, now);
      if (run) return { run, isNew: false };
    }
    const prepared = await this.#prepareRun(caller, agent, agent_id, request);
    this.#options.onStart?.(caller);
    return this.#write(idempotency ? { ...prepared, idempotency } : prepared);
  }

  /** Checks a start for a trigger, which writes it inside its own transaction. */
  async prepare(caller: Caller, agent_id: string, request: RunRequest): Promise<PreparedRun> {
    return this.#prepareRun(caller, await this.#findAgent(caller, agent_id), agent_id, request);
  }

  /** agents.errors.agent_not_found, agents.authentication.4: checked before idempotency. */
  async #findAgent(caller: Caller, agent_id: string): Promise<Startable> {
    // A key without an account owns no agents, and would only ever see 404.
    if (caller.account_id === null) {
      throw apiError("permission_denied", { message: "A key without an owner starts no runs." });
    }
    const agent = await this.#options.runs.findStartable(agent_id);
    if (agent?.account_id !== caller.account_id) throw apiError("agent_not_found");
    return agent;
  }

  async #prepareRun(
    caller: Caller,
    agent: Startable,
    agent_id: string,
    request: RunRequest,
  ): Promise<PreparedRun> {
    const { clock, ids, internal, alias, disk, settings } = this.#deps;
    const { findVersion, priceOf } = this.#options;
    // agents.errors.agent_held
    if (agent.is_held) throw apiError("agent_held");
    if (agent.status !== "active") throw apiError("agent_archived");
    const version = await findVersion(agent_id, request.version ?? agent.current_version);
    // agents.errors.agent_version_not_found
    if (!version) throw apiError("agent_version_not_found");
    const budgets = lowerBudgets(version.budgets, request.budgets);
    const model = await requireModel(internal.chat, version.model, alias, caller);
    requireVision(model, request.content);
    disk.require();
    const { active_runs, daily_runs, stored_bytes } = settings().limits;
    const { message, trigger, thread_id = null } = request;
    const { history = null, ...rerun } = request.rerun ?? NO_RERUN;
    const isHook = "hook" in request;
    const run: RunRow = {
      ...NEW_RUN,
      id: ids.uuid(),
      agent_id,
      version: version.version,
      thread_id: thread_id ?? ids.uuid(),
      trigger_kind: trigger?.kind ?? "manual",
      trigger_id: trigger?.id ?? null,
      fire_id: trigger?.fire_id ?? null,
      input: {
        message,
        ...(request.content && { content: request.content }),
        ...(isHook && { hook: request.hook }),
      },
      cost: {
        model: 0,
        tools: 0,
        total: 0,
        prices: freezePrices(model, version.tool_revisions, priceOf),
      },
      external_content:
        isHook || listFetched(request.content).length > 0 || history?.external === true,
      ...rerun,
      metadata: request.metadata ?? {},
      started_by_key_id: caller.key_id,
      fired_by_key_id: trigger?.fired_by_key_id ?? null,
      started_by_operator: request.operator ?? null,
      created_at: clock.now(),
      account_id: agent.account_id,
      model: model.id,
      budgets,
    };
    return {
      run,
      thread_id,
      ...(request.images && { images: request.images }),
      message_id: ids.uuid(),
      hook_message_id: isHook ? ids.uuid() : null,
      history,
      limits: { active_runs, daily_runs, stored_bytes },
      idempotency: null,
    };
  }

  /** agents.errors.admission_busy */
  async #write(prepared: PreparedRun): Promise<Started> {
    const release = this.#inFlight.take(prepared.run.account_id);
    if (!release) throw apiError("admission_busy", { headers: { "retry-after": BUSY_RETRY_S } });
    try {
      return await this.#options.runs.start(prepared);
    } finally {
      release();
    }
  }
}

const NO_RERUN: Rerun = {
  rerun_of: null,
  rerun_tools: null,
  rerun_from_round: null,
  history: null,
};

/** Without this, every round of the run would fail. */
function requireVision({ id, capabilities }: ModelSettings, content: MessagePart[] | undefined) {
  const [image] = listImages(content);
  if (!image || capabilities.includes("vision")) return;
  const message = `The model ${shorten(id)} has no capability \`vision\`.`;
  throw apiError("invalid_request", { param: `input.content.${image.place}`, message });
}

/** agents.states.none_post_v1_agents_id_runs: the transaction sets number and position. */
const NEW_RUN = {
  status: "queued" as const,
  cancel_requested: false,
  output: null,
  error: null,
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, rounds: 0, tool_calls: 0 },
  pending_approvals: [],
  recoveries: 0,
  started_at: null,
  finished_at: null,
  number: 0,
  epoch: 0,
  last_seq: 0,
  message_seq: 0,
  priced: 0,
  worked_ms: 0,
  crashes: 0,
};
