// Runs the calls of a round side by side. Calls that need a person hold nothing up: they start as
// soon as they are approved, and are waited for when all others are done.
import type { Caller } from "../../../access/index.ts";
import { KEY_ENDED, type RunContext, type StepResult } from "../run-context.ts";
import type { ToolCallData } from "../step.ts";
import { endDisabled, type FinishedCall, runCall } from "./invocation.ts";
import { type OpenCall, prepareCall, type ReadyCall } from "./open-calls.ts";
import { listReplayed, replayCalls } from "./replay.ts";
import { settleCalls, settleDenied, settleHung, settleUnseen } from "./settlement.ts";

const CALLS_AT_ONCE = 8;

export async function runCalls(context: RunContext): Promise<StepResult> {
  const { openCalls } = context.state;
  await context.refreshTools();
  // A call without a result here was sent by a process that died.
  const unseen = openCalls.filter(({ status }) => status === "sent");
  if (unseen.length > 0) return settleUnseen(context, unseen);
  const denied = openCalls.filter((one) => one.status === "denied");
  if (denied.length > 0) return settleDenied(context, denied);
  const ready = openCalls.filter((one) => one.status === "ready");
  const hung = ready.filter(({ call }) => context.hasHung(call.tool_call_id));
  if (hung.length > 0) return settleHung(context, hung);
  // agents.states.running_tool_call_needs_approval
  if (ready.length === 0) return context.wait();
  const replayed = listReplayed(context, ready);
  if (replayed.length > 0) return replayCalls(context, context.recorded!, replayed);
  const caller = await context.findCaller();
  if (!caller) return context.finish(KEY_ENDED);
  return new CallRound(context, caller).run(ready.map((one) => prepare(context, one)));
}

function prepare({ deps, state }: RunContext, ready: ReadyCall): ToolCallData {
  const { approval } = ready;
  if (approval) deps.traces?.recordWait(state.row, approval, "approved");
  return prepareCall(ready);
}

class CallRound {
  readonly #context: RunContext;
  readonly #caller: Caller;
  readonly #decisions: DecisionWatch;
  readonly #running = new Set<Promise<void>>();
  #waiting: ToolCallData[] = [];
  #finished: FinishedCall[] = [];

  constructor(context: RunContext, caller: Caller) {
    this.#context = context;
    this.#caller = caller;
    this.#decisions = new DecisionWatch(context);
  }

  async run(calls: readonly ToolCallData[]): Promise<StepResult> {
    const { state, control } = this.#context;
    const { signal } = control;
    this.#waiting = [...calls];
    // Calls end with their round.
    const over = new AbortController();
    const callSignal = AbortSignal.any([signal, over.signal]);
    const interrupted = Promise.withResolvers<void>();
    const interrupt = () => interrupted.resolve();
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      while (!signal.aborted && this.#hasWork()) {
        const approved = await this.#decisions.takeApproved();
        this.#waiting.push(...approved.map((one) => prepare(this.#context, one)));
        const next = this.#waiting.splice(0, CALLS_AT_ONCE - this.#running.size);
        const allowed = await this.#recordIntents(next);
        if (signal.aborted || state.row.cancel_requested) break;
        for (const call of allowed) this.#start(call, callSignal);
        if (this.#finished.length === 0) {
          await Promise.race([interrupted.promise, this.#decisions.changed, ...this.#running]);
        }
        await this.#settleFinished();
      }
    } finally {
      this.#decisions.stop();
      signal.removeEventListener("abort", interrupt);
      // Dispatching an abort is costly, and most rounds leave no call behind.
      if (this.#running.size > 0) over.abort();
    }
    // Results that came during the last write count despite the interruption.
    await this.#settleFinished();
    return signal.aborted ? "interrupted" : "next";
  }

  #hasWork(): boolean {
    return this.#waiting.length + this.#running.size + this.#finished.length > 0;
  }

  #start(call: ToolCallData, signal: AbortSignal): void {
    const run = runCall(this.#context, call, this.#caller, signal).then((finished) => {
      this.#running.delete(run);
      // An interrupted call has no result: it is repeated, or ends with its run.
      if (!this.#context.control.signal.aborted) this.#finished.push(finished);
    });
    // The failure is also seen by the race, which may come later.
    run.catch(() => undefined);
    this.#running.add(run);
  }

  async #settleFinished(): Promise<void> {
    const finished = this.#finished;
    this.#finished = [];
    this.#waiting.unshift(...(await settleCalls(this.#context, finished)));
  }

  /**
   * Records that calls are about to be sent, and returns those that may be. A cancelled run sends
   * none. Calls that only read, or change only rows of ours, need no record.
   */
  async #recordIntents(calls: readonly ToolCallData[]): Promise<ToolCallData[]> {
    const isSending = ({ name }: ToolCallData) => this.#context.findTool(name)?.sends !== undefined;
    const sending = calls.filter(isSending);
    if (sending.length === 0) return [...calls];
    const attempts = sending.map((call) => ({ ...call, attempt: call.attempt + 1 }));
    const intent = await this.#context.recordIntent(attempts);
    if (intent.kind === "written") {
      return [...attempts, ...calls.filter((call) => !isSending(call))];
    }
    if (intent.kind !== "tools_disabled") return [];
    const isDisabled = ({ name }: ToolCallData) => intent.tools.includes(name);
    // Read again, so that the model is told why.
    await this.#context.refreshTools();
    const disabled = sending.filter(isDisabled);
    this.#finished.push(...disabled.map((call) => endDisabled(this.#context, call)));
    return this.#recordIntents(calls.filter((call) => !isDisabled(call)));
  }
}

/**
 * Watches for approvals of a round while its other calls run. It listens only where a call asks,
 * since each write of a run wakes every listener.
 */
class DecisionWatch {
  readonly #context: RunContext;
  #change = Promise.withResolvers<void>();
  #isChanged = false;
  #unlisten: (() => void) | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  get changed(): Promise<void> {
    return this.#change.promise;
  }

  stop(): void {
    this.#unlisten?.();
  }

  async takeApproved(): Promise<ReadyCall[]> {
    const { state } = this.#context;
    const asking = state.openCalls.filter(({ status }) => status === "awaiting_approval").map(idOf);
    if (asking.length > 0 && !this.#unlisten) this.#listen();
    if (!this.#isChanged) return [];
    this.#isChanged = false;
    this.#change = Promise.withResolvers();
    if (asking.length === 0) return [];
    await this.#context.takeDecisions();
    const approved = state.openCalls.filter((one): one is ReadyCall => {
      return one.status === "ready" && asking.includes(idOf(one));
    });
    if (approved.length > 0) await this.#context.refreshTools();
    return approved;
  }

  #listen(): void {
    const { deps, state } = this.#context;
    this.#unlisten = deps.database.listen("run", (id) => {
      if (id !== null && id !== state.row.id) return;
      this.#isChanged = true;
      this.#change.resolve();
    });
    // Decisions from before the subscription are read once.
    this.#isChanged = true;
  }
}

function idOf({ call }: OpenCall): string {
  return call.tool_call_id;
}
