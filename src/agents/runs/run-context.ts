// One execution of a run: what its parts share, and everything that they write. Each write is one
// transaction, after which the state in memory follows.
import { type Caller, type ModelStates, pickModelStates } from "../../access/index.ts";
import { retryUnavailable } from "../../database/index.ts";
import { apiError, type ErrorCode } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import { nameImage } from "../threads/parts.ts";
import type { Tool } from "../tools/contract.ts";
import type { Toolset } from "../tools/toolsets.ts";
import type { Exceeded } from "./budget.ts";
import { cancelledResult, isSent, type TaskCall } from "./calls/open-calls.ts";
import type { Amount } from "./cost.ts";
import type { RecordedRun } from "./recorded-run.ts";
import type { Run, RunRow } from "./run.ts";
import { RunEntry } from "./run-entry.ts";
import { applyMessage, applyStep, type RunState } from "./state.ts";
import type { NewStep, StepRow, ToolCallData } from "./step.ts";
import { countApprovalIds } from "./store/finish.ts";
import type { RunStore } from "./store/index.ts";
import type { EncodedStep, Progress, Recorded, RunRecord } from "./store/record.ts";
import type { Intent } from "./store/round.ts";
import type { FinalStatus } from "./transitions.ts";

export type InterruptReason = "cancel" | "stop" | "time" | "key" | "epoch_lost";

export interface RunControl {
  signal: AbortSignal;
  /** Aborts when runs are to be released to other processes. */
  draining(): AbortSignal;
  /** Lends the run's slot to others for a while. */
  park(waitMs: number): Promise<"resumed" | "interrupted" | "draining">;
}

/**
 * Outcome of one step of the run loop; the signal has the reason of `interrupted`. `over`: the run
 * has ended, waits for a person, or was released.
 */
export type StepResult = "next" | "interrupted" | "over";

export interface FinalState {
  status: FinalStatus;
  error: Run["error"];
}

/** agents.states.running_cancel */
export const CANCELLED: FinalState = {
  status: "cancelled",
  error: { code: "cancelled", message: "The run was cancelled." },
};

/** agents.states.running_run_fails */
export function failure(code: ErrorCode | string, message?: string): FinalState {
  const text = message ?? apiError(code as ErrorCode).message;
  return { status: "failed", error: { code, message: text } };
}

/** agents.authentication.1: a run acts for its key, and not without it. */
export const KEY_ENDED = failure("permission_denied", "The key that started the run has ended.");

/** Times that a call may hang before it is not repeated. */
const HANGS_MAX = 2;

/** Another process has the run: this one must write nothing more for it. */
export class RunLost extends Error {}

export interface RunContextOptions {
  deps: AgentsDeps;
  store: RunStore;
  state: RunState;
  control: RunControl;
  toolset: Toolset;
  recorded?: RecordedRun | null;
  findCaller(keyId: string | null): Promise<Caller | undefined>;
  /** Read by the claim. */
  modelStates?: ModelStates | undefined;
}

export class RunContext {
  readonly deps: AgentsDeps;
  readonly state: RunState;
  readonly control: RunControl;
  /** The run that this one repeats, where replies or results are taken from its record. */
  readonly recorded: RecordedRun | null;
  /** Summaries of the thread since the last reply. */
  summaries = 0;
  readonly #options: RunContextOptions;
  /** Read by the last write. */
  #modelStates: ModelStates | undefined;
  readonly #epoch: number;
  readonly #workedBeforeMs: number;
  readonly #startedAt: number;

  constructor(options: RunContextOptions) {
    const { deps, state, control, recorded = null } = options;
    this.deps = deps;
    this.state = state;
    this.control = control;
    this.recorded = recorded;
    this.#options = options;
    this.#modelStates = options.modelStates;
    this.#epoch = state.row.epoch;
    this.#workedBeforeMs = state.row.worked_ms;
    this.#startedAt = deps.clock.monotonic();
  }

  get workedMs(): number {
    return Math.round(this.#workedBeforeMs + this.deps.clock.monotonic() - this.#startedAt);
  }

  get roundName(): string {
    return `round ${this.state.row.usage.rounds + 1}`;
  }

  /** agents.authentication.1: asked before each use; undefined once the key has ended. */
  async findCaller(): Promise<Caller | undefined> {
    const { started_by_key_id } = this.state.row;
    const caller = await this.retry(() => this.#options.findCaller(started_by_key_id));
    return caller && this.#modelStates ? { ...caller, model_states: this.#modelStates } : caller;
  }

  readonly findTool = (name: string): Tool | undefined => this.#options.toolset.find(name);

  /** Why a tool of the version is not found now, where that is not its switch. */
  readonly explainOff = (name: string): string | null =>
    this.#options.toolset.explainOff?.(name) ?? null;

  async refreshTools(): Promise<void> {
    const { refresh } = this.#options.toolset;
    if (refresh) await this.retry(refresh);
  }

  findOutput(tool_call_id: string): Promise<string | undefined> {
    return this.retry(() => this.#options.store.findOutput(this.state.row.id, tool_call_id));
  }

  /** A call, or a model's round, that blocked the event loop too often to be repeated. */
  hasHung(name: string): boolean {
    return (this.state.hungCalls.get(name) ?? 0) >= HANGS_MAX;
  }

  /** Names a call to the watchdog until `work` returns. */
  watch<T>(name: string, work: () => T): T {
    const { id: run_id, epoch } = this.state.row;
    return this.deps.activity.during({ run_id, epoch, call: name }, work);
  }

  newEntry(progress: RunRow = this.state.row): RunEntry {
    return new RunEntry(this.deps.ids, progress);
  }

  /** agents.does.cost.2: adds a step about an unknown price, once for each name. */
  reportUnpriced(entry: RunEntry, name: string, cost: Amount): void {
    const { unpriced } = this.state;
    if (cost !== null || unpriced.has(name)) return;
    unpriced.add(name);
    const message = `What ${name} cost is not known, and with it the cost of the run.`;
    entry.addEvent("price_missing", message, { name });
  }

  async write(kind: "plan" | "settle" | "note", entry: RunEntry): Promise<void> {
    const record = this.#encode(entry);
    const read_at = this.deps.clock.monotonic();
    const recorded = await this.#retryRecord(record, (one) =>
      this.#options.store[kind](one, entry.requests),
    );
    if (!recorded) throw new RunLost();
    this.#modelStates = pickModelStates(recorded, read_at);
    this.#apply(entry, record, recorded);
  }

  /** Stores an image of the input, by the index of its part. */
  async storeImage(place: number, url: string): Promise<void> {
    const { row, images } = this.state;
    const isStored = await this.retry(() =>
      this.#options.store.storeImage(row.id, this.#epoch, { place, url }),
    );
    if (!isStored) throw new RunLost();
    images.set(nameImage({ run_id: row.id, place }), url);
  }

  /** Writes that calls are about to be sent; only `written` ones may be. */
  async recordIntent(calls: readonly ToolCallData[]): Promise<Intent> {
    const { row } = this.state;
    const entry = this.newEntry();
    for (const data of calls) entry.addStep({ kind: "tool_call", data });
    const record = this.#encode(entry);
    const tools = [...new Set(calls.map(({ name }) => name))];
    const intent = await this.#retryRecord(record, (one) =>
      this.#options.store.intend(one, row.account_id, tools),
    );
    if (intent.kind === "lost") throw new RunLost();
    if (intent.kind === "written") this.#apply(entry, record, intent.recorded);
    if (intent.kind === "cancelled") this.#markCancelled();
    return intent;
  }

  async finish(final: FinalState, entry: RunEntry = this.newEntry()): Promise<"over"> {
    const { state, deps } = this;
    // A reply that broke off has made the cost unknown, which may not have been reported.
    this.reportUnpriced(entry, state.row.model, entry.progress.cost.model);
    for (const { call } of state.openCalls) {
      if (entry.hasResult(call.tool_call_id)) continue;
      if (isSent(call)) entry.countCall(0, false);
      entry.addResult(cancelledResult(call));
    }
    const pending = entry.progress.pending_approvals.length;
    const fresh = Array.from({ length: countApprovalIds(pending) }, deps.ids.uuid);
    const [event_id, ...others] = fresh;
    const end = { ...final, event_id: event_id!, fresh: others };
    const isWritten = await this.#retryRecord(this.#encode(entry), (record) =>
      this.#options.store.finish(record, end),
    );
    if (!isWritten) throw new RunLost();
    this.#countCalls(entry);
    for (const one of state.openCalls) if (one.status === "task") this.#cancelTask(one);
    return "over";
  }

  #cancelTask({ call, task }: TaskCall): void {
    const onFailure = (error: unknown) =>
      this.deps.log.warn("runs: a task could not be cancelled", { tool: call.name, error });
    this.findTool(call.name)?.cancelTask?.(task).catch(onFailure);
  }

  /** agents.states.running_priced_cost_reaches_max_cost */
  finishOverBudget({ code, message }: Exceeded, entry = this.newEntry()): Promise<"over"> {
    entry.addEvent("budget", message, { budget: code });
    return this.finish({ status: "budget_exceeded", error: { code, message } }, entry);
  }

  /** Waits for decisions unless the run was cancelled or all are made already. */
  async wait(): Promise<"over" | "next"> {
    const { store } = this.#options;
    const outcome = await this.retry(() =>
      store.wait(this.state.row.id, this.#epoch, this.workedMs),
    );
    if (outcome === "lost") throw new RunLost();
    if (outcome === "waiting") return "over";
    if (outcome === "cancelled") {
      this.#markCancelled();
      return "next";
    }
    await this.takeDecisions();
    if (this.state.openCalls.every(({ status }) => status === "awaiting_approval")) {
      throw new Error("a run waits for approvals that its state lacks");
    }
    return "next";
  }

  async takeDecisions(): Promise<void> {
    const { state } = this;
    const { id, usage } = state.row;
    const steps = await this.retry(() => this.#options.store.listDecisions(id, usage.rounds));
    for (const step of steps) applyStep(state, step);
    const asking = state.openCalls.filter(({ status }) => status === "awaiting_approval");
    const pending_approvals = asking.flatMap(({ call }) => call.approval_id ?? []);
    state.row = { ...state.row, pending_approvals };
  }

  async release(): Promise<"over"> {
    const { store } = this.#options;
    await this.retry(() => store.release(this.#epoch, this.state.row.id, this.workedMs));
    return "over";
  }

  #markCancelled(): void {
    this.state.row = { ...this.state.row, cancel_requested: true };
  }

  #encode({ progress, steps, messages, outputs, effects, summary }: RunEntry): RunRecord {
    return {
      run_id: this.state.row.id,
      epoch: this.#epoch,
      at: this.deps.clock.now(),
      progress: selectProgress(progress, this.workedMs),
      steps: steps.map(encodeStep),
      messages,
      outputs,
      effects,
      summary,
    };
  }

  #countCalls({ steps }: RunEntry): void {
    for (const { kind, data } of steps) {
      if (kind === "tool_result") this.deps.countCall?.(data.outcome);
    }
  }

  #apply(entry: RunEntry, record: RunRecord, recorded: Recorded): void {
    const { progress, steps } = entry;
    this.#countCalls(entry);
    const { last_seq, message_seq, cancel_requested } = recorded;
    this.state.row = { ...progress, last_seq, message_seq, cancel_requested };
    const before = last_seq - steps.length;
    for (const [index, { kind, data }] of steps.entries()) {
      applyStep(this.state, { seq: before + index + 1, kind, data: data as StepRow["data"] });
    }
    for (const message of record.messages) applyMessage(this.state, message);
  }

  retry<T>(work: (isRetry: boolean) => Promise<T>): Promise<T> {
    return retryUnavailable(this.deps.clock, work);
  }

  /** Repeats a write until the database is back: what was received must not be lost. */
  #retryRecord<T>(record: RunRecord, write: (record: RunRecord) => Promise<T>): Promise<T> {
    return this.retry((isRetry) => write(isRetry ? { ...record, isRetry } : record));
  }
}

function encodeStep({ id, round, kind, data, execution }: NewStep): EncodedStep {
  return { id, round, kind, data: JSON.stringify(data), ...(execution && { execution }) };
}

/** Selects the columns that the executing process writes; the rest need not reach the writer. */
function selectProgress(row: RunRow, worked_ms: number): Progress {
  const { model, tools, total } = row.cost;
  const { usage, priced, output, external_content } = row;
  return { cost: { model, tools, total }, usage, priced, worked_ms, output, external_content };
}
