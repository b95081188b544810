// The engine: claims waiting runs, executes a bounded number at once, and drains at a stop.
import { type Caller, KeyRevocations, type ModelStates } from "../../access/index.ts";
import { DatabaseUnusable } from "../../database/index.ts";
import { type Cancel, settlesWithin, wait } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import { remainingMs } from "./budget.ts";
import { CallerCache } from "./caller-cache.ts";
import { RunSlots } from "./concurrency.ts";
import { RunRecovery } from "./recovery.ts";
import type { RunRow } from "./run.ts";
import type { InterruptReason, RunControl } from "./run-context.ts";
import { type ExecutionOptions, executeRun } from "./run-loop.ts";

const RETRY_MS = 1_000;
/** Time for interrupted runs to end after the deadline of a stop. */
const GRACE_MS = 1_000;
/** Maximum delay of a timer; longer budgets are checked before each round. */
const TIMER_MS_MAX = 2_147_483_647;

export type RunEngineOptions = Omit<ExecutionOptions, "findCaller" | "modelStates">;

interface ActiveRun {
  readonly row: RunRow;
  readonly controller: AbortController;
  over: Promise<void>;
}

export class RunEngine implements Service {
  readonly name = "engine";
  readonly #options: RunEngineOptions;
  readonly #slots: RunSlots;
  readonly #callers: CallerCache;
  readonly #keys: KeyRevocations;
  readonly #recovery: RunRecovery;
  readonly #claims: WorkerLoop;
  readonly #suspects: WorkerLoop;
  #draining = new AbortController();
  readonly #active = new Map<string, ActiveRun>();
  /** Runs cancelled during a claim, which may be among the claimed ones. */
  readonly #earlyCancels = new Set<string>();
  readonly #failed = new Set<string>();
  #suspect: string | undefined;
  #unlisten: (() => void)[] = [];

  constructor(options: RunEngineOptions) {
    const { deps, store } = options;
    const { clock, database, log, access, process, settings } = deps;
    this.#options = options;
    this.#slots = new RunSlots(() => settings().limits.concurrent_runs);
    this.#callers = new CallerCache(deps);
    const { findCaller } = access;
    this.#keys = new KeyRevocations({ database, findCaller, clock, log });
    this.#recovery = new RunRecovery({
      deps,
      store,
      isActive: (id) => this.#active.has(id),
      hasFailed: (id) => this.#failed.has(id),
    });
    const onError = (error: unknown) => log.error("runs: claim failed", { error });
    const loop = { clock, onError, retryMs: RETRY_MS };
    this.#claims = new WorkerLoop({ ...loop, work: () => this.#claim() });
    this.#suspects = new WorkerLoop({ ...loop, work: () => this.#claimSuspect() });
    process.join({
      reclaim: (isDead) => this.#recovery.reclaim(isDead),
      onEpochLost: () => this.#interruptAll("epoch_lost"),
      onHeartbeat: () => {
        this.#claims.wake();
        this.#suspects.wake();
        // A process that died right after its commit has sent no notification.
        if (database.isShared) void this.#lookAgain().catch(onError);
      },
    });
  }

  /** Takes over the caller of a start, whose request has read its key. */
  noteStarter(caller: Caller): void {
    const { key_id, model_states } = caller;
    if (model_states) this.#callers.keep(key_id, caller, model_states.read_at);
  }

  get executing(): number {
    return this.#active.size;
  }

  async start(): Promise<void> {
    const { database, log } = this.#options.deps;
    const onError = (error: unknown) => log.error("runs: a wake-up failed", { error });
    this.#unlisten = [
      () => this.#callers.stop(),
      database.listen("runs.queued", (id) => void this.#onQueued(id).catch(onError)),
      // The end of a pause admits what has waited.
      database.listen("installation", () => {
        void this.#onQueued(null).catch(onError);
        this.#suspects.wake();
      }),
      database.listen("run.cancel", (id) => void this.#onCancel(id).catch(onError)),
      // A suspect's progress, or its end, admits the next one.
      database.listen("run", (id) => {
        if (id !== null && id === this.#suspect) this.#suspects.wake();
      }),
    ];
    await this.#onQueued(null);
    this.#suspects.wake();
  }

  /** Begins no further round: runs are released between two rounds, and continue after a start. */
  drain(): void {
    this.#draining.abort();
    void this.#claims.stop();
    void this.#suspects.stop();
  }

  /** Drains until `resume`; runs are released to other processes. */
  async pause(): Promise<void> {
    this.#draining.abort();
    await Promise.all([this.#claims.pause(), this.#suspects.pause()]);
  }

  resume(): void {
    this.#draining = new AbortController();
    this.#claims.resume();
    this.#suspects.resume();
  }

  async stop(deadlineMs: number): Promise<void> {
    const { clock } = this.#options.deps;
    this.drain();
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    const idle = this.#becomeIdle();
    if (!(await settlesWithin(clock, deadlineMs, idle))) {
      this.#interruptAll("stop");
      await settlesWithin(clock, GRACE_MS, idle);
    }
    this.#keys.stop();
  }

  async #becomeIdle(): Promise<void> {
    await Promise.all([this.#claims.stop(), this.#suspects.stop()]);
    while (this.#active.size > 0) {
      await Promise.all([...this.#active.values()].map(({ over }) => over));
    }
  }

  async #onQueued(account_id: string | null): Promise<void> {
    const { store } = this.#options;
    const accounts = account_id === null ? await store.listWaiting() : [account_id];
    for (const account of accounts) this.#slots.addWaiting(account);
    this.#claims.wake();
  }

  async #lookAgain(): Promise<void> {
    await this.#onQueued(null);
    await this.#onCancel(null);
  }

  async #onCancel(run_id: string | null): Promise<void> {
    const { store, deps } = this.#options;
    const ids = run_id === null ? await store.listCancelled(deps.process.epoch) : [run_id];
    for (const id of ids) {
      const run = this.#active.get(id);
      if (run) interrupt(run, "cancel");
      else if (this.#claims.isRunning || this.#suspects.isRunning) this.#earlyCancels.add(id);
    }
  }

  async #claim(): Promise<NextPass> {
    const { store, deps } = this.#options;
    const quotas = this.#slots.planClaims();
    if (quotas.length === 0) return "on_wake";
    if (!this.#suspects.isRunning) this.#earlyCancels.clear();
    const read_at = deps.clock.monotonic();
    const rows = await store.claim(deps.process.epoch, quotas, deps.clock.now());
    const claimed = new Map<string, number>();
    for (const { off_models, blocked_models, granted_models, ...row } of rows) {
      this.#begin(row, { off_models, blocked_models, granted_models, read_at });
      claimed.set(row.account_id, (claimed.get(row.account_id) ?? 0) + 1);
    }
    this.#slots.settleClaims(quotas, claimed);
    return "now";
  }

  /** Begins a suspect even without a free slot: at most one run above the limit. */
  async #claimSuspect(): Promise<NextPass> {
    const { store, deps } = this.#options;
    const row = (await store.hasSuspect()) && (await store.claimSuspect(deps.process.epoch));
    if (row) {
      this.#suspect = row.id;
      this.#begin(row);
    }
    return "on_wake";
  }

  #begin(row: RunRow, modelStates?: ModelStates): void {
    const run: ActiveRun = { row, controller: new AbortController(), over: Promise.resolve() };
    if (this.#earlyCancels.has(row.id)) interrupt(run, "cancel");
    this.#active.set(row.id, run);
    run.over = this.#execute(run, modelStates);
  }

  async #execute(run: ActiveRun, modelStates?: ModelStates): Promise<void> {
    const { deps } = this.#options;
    const { id, started_by_key_id } = run.row;
    this.#slots.acquire();
    deps.activity.enter(id);
    const forgetKey = this.#keys.add(started_by_key_id ?? "", () => interrupt(run, "key"));
    const cancelTimer = this.#limitTime(run);
    const findCaller = (keyId: string | null) => this.#callers.find(keyId);
    try {
      await executeRun(
        { ...this.#options, findCaller, modelStates },
        run.row,
        this.#createControl(run),
      );
      this.#failed.delete(id);
    } catch (error) {
      // The run stays claimed, and the next heartbeat returns it to the queue.
      deps.log.error("runs: execution failed", { run_id: id, error });
      if (error instanceof DatabaseUnusable) this.#failed.delete(id);
      else this.#failed.add(id);
    } finally {
      cancelTimer();
      forgetKey();
      // A process that lost the run may have claimed it again.
      if (this.#active.get(id) === run) {
        this.#active.delete(id);
        deps.activity.leave(id);
        deps.live?.leave(id);
      }
      this.#slots.release();
      this.#claims.wake();
    }
  }

  #limitTime(run: ActiveRun): Cancel {
    const leftMs = remainingMs(run.row, run.row.worked_ms);
    if (leftMs === null || leftMs > TIMER_MS_MAX) return () => undefined;
    return this.#options.deps.clock.after(Math.max(0, leftMs), () => interrupt(run, "time"));
  }

  #createControl({ controller: { signal } }: ActiveRun): RunControl {
    return {
      signal,
      draining: () => this.#draining.signal,
      park: (waitMs) => this.#park(waitMs, signal),
    };
  }

  async #park(waitMs: number, signal: AbortSignal): ReturnType<RunControl["park"]> {
    const draining = this.#draining.signal;
    const ended = AbortSignal.any([signal, draining]);
    this.#slots.release();
    this.#claims.wake();
    await wait(this.#options.deps.clock, waitMs, ended);
    await this.#slots.reacquire(ended);
    if (signal.aborted) return "interrupted";
    return draining.aborted ? "draining" : "resumed";
  }

  #interruptAll(reason: InterruptReason): void {
    for (const run of this.#active.values()) interrupt(run, reason);
  }
}

function interrupt({ controller }: ActiveRun, reason: InterruptReason): void {
  controller.abort(reason);
}
