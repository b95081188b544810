// Runs the calls of a round side by side. Calls that need a person hold nothing up: they start as
// soon as they are approved, and are waited for when all others are done.
import type { Caller } from "../../../access/index.ts";
import type { RemoteTask } from "../../tools/contract.ts";
import { KEY_ENDED, type RunContext, type StepResult } from "../run-context.ts";
import type { ToolCallData } from "../step.ts";
import { endDisabled, type FinishedCall, runCall } from "./invocation.ts";
import {
  type OpenCall,
  prepareCall,
  type ReadyCall,
  type StoredTask,
  type TaskCall,
} from "./open-calls.ts";
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
  const tasks = openCalls.filter((one) => one.status === "task");
  const hung = [...ready, ...tasks].filter(({ call }) => context.hasHung(call.tool_call_id));
  if (hung.length > 0) return settleHung(context, hung);
  // agents.states.running_tool_call_needs_approval
  if (ready.length + tasks.length === 0) return context.wait();
  const replayed = listReplayed(context, ready);
  if (replayed.length > 0) return replayCalls(context, context.recorded!, replayed);
  const caller = await context.findCaller();
  if (!caller) return context.finish(KEY_ENDED);
  const calls = ready.map((one) => prepare(context, one));
  return new CallRound(context, caller).run(calls, tasks);
}

function prepare({ deps, state }: RunContext, ready: ReadyCall): ToolCallData {
  const { approval } = ready;
  if (approval) deps.traces?.recordWait(state.row, approval, "approved");
  return prepareCall(ready);
}

interface BegunTask {
  call: ToolCallData;
  task: RemoteTask;
  onKept(): void;
}

class CallRound {
  readonly #context: RunContext;
  readonly #caller: Caller;
  readonly #decisions: DecisionWatch;
  readonly #running = new Map<string, Promise<void>>();
  #waiting: ToolCallData[] = [];
  #finished: FinishedCall[] = [];
  #begun: BegunTask[] = [];
  /** Calls that go on at their server, whichever process asks for them. */
  readonly #away = new Set<string>();
  #woken = Promise.withResolvers<void>();

  constructor(context: RunContext, caller: Caller) {
    this.#context = context;
    this.#caller = caller;
    this.#decisions = new DecisionWatch(context);
  }

  async run(calls: readonly ToolCallData[], tasks: readonly TaskCall[]): Promise<StepResult> {
    const { state, control } = this.#context;
    const { signal } = control;
    this.#waiting = [...calls];
    // Calls end with their round.
    const over = new AbortController();
    const callSignal = AbortSignal.any([signal, over.signal]);
    const interrupted = Promise.withResolvers<void>();
    const interrupt = () => interrupted.resolve();
    signal.addEventListener("abort", interrupt, { once: true });
    const draining = control.draining();
    const wake = () => this.#woken.resolve();
    draining.addEventListener("abort", wake, { once: true });
    let isReleased = false;
    try {
      for (const { call, task } of tasks) this.#start(call, callSignal, task);
      while (!signal.aborted && this.#hasWork()) {
        const approved = await this.#decisions.takeApproved();
        this.#waiting.push(...approved.map((one) => prepare(this.#context, one)));
        const next = this.#waiting.splice(0, CALLS_AT_ONCE - this.#running.size);
        const allowed = await this.#recordIntents(next);
        if (signal.aborted || state.row.cancel_requested) break;
        for (const call of allowed) this.#start(call, callSignal);
        if (this.#finished.length + this.#begun.length === 0) {
          isReleased = draining.aborted && this.#isAway();
          if (isReleased) break;
          const changes = [interrupted.promise, this.#decisions.changed, this.#woken.promise];
          await Promise.race([...changes, ...this.#running.values()]);
          this.#woken = Promise.withResolvers();
        }
        await this.#keepTasks();
        await this.#settleFinished();
      }
    } finally {
      this.#decisions.stop();
      signal.removeEventListener("abort", interrupt);
      draining.removeEventListener("abort", wake);
      // Dispatching an abort is costly, and most rounds leave no call behind.
      if (this.#running.size > 0) over.abort();
    }
    // Results that came during the last write count despite the interruption.
    await this.#keepTasks();
    await this.#settleFinished();
    if (signal.aborted) return "interrupted";
    return isReleased ? this.#context.release() : "next";
  }

  /** All that is left goes on without this process. */
  #isAway(): boolean {
    const isHere = (id: string) => !this.#away.has(id);
    return this.#waiting.length === 0 && ![...this.#running.keys()].some(isHere);
  }

  #hasWork(): boolean {
    return this.#waiting.length + this.#running.size + this.#finished.length > 0;
  }

  #start(call: ToolCallData, signal: AbortSignal, task?: RemoteTask): void {
    const keepTask = (begun: RemoteTask) =>
      new Promise<void>((onKept) => {
        this.#begun.push({ call, task: begun, onKept });
        this.#woken.resolve();
      });
    const control = { signal, task, keepTask };
    if (task) this.#away.add(call.tool_call_id);
    else this.#away.delete(call.tool_call_id);
    const run = runCall(this.#context, call, this.#caller, control).then((finished) => {
      this.#running.delete(call.tool_call_id);
      // An interrupted call has no result: it is repeated, or ends with its run.
      if (!signal.aborted) this.#finished.push(finished);
    });
    // The failure is also seen by the race, which may come later.
    run.catch(() => undefined);
    this.#running.set(call.tool_call_id, run);
  }

  /** Stores tasks before anything is asked of them, so that every process can go on with them. */
  async #keepTasks(): Promise<void> {
    const begun = this.#begun;
    if (begun.length === 0) return;
    this.#begun = [];
    const entry = this.#context.newEntry();
    for (const { call, task } of begun) {
      const ends_at = new Date(task.ends_at).toISOString();
      const { id: task_id, session } = task;
      const detail: StoredTask = { tool_call_id: call.tool_call_id, task_id, session, ends_at };
      entry.addEvent("task_started", `The call of ${call.name} goes on as a task.`, detail);
    }
    await this.#context.write("note", entry);
    for (const { call, onKept } of begun) {
      this.#away.add(call.tool_call_id);
      onKept();
    }
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
