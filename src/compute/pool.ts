// Compute Workers: tasks that would block the event loop run in them and end at their timeout.
import type { Clock } from "../platform/clock.ts";
import { hasFreeDescriptors, openWorker } from "../platform/descriptors.ts";
import { FairQueue } from "../platform/fair-queue.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import type { ComputeOrder, ComputeReply, ComputeTask } from "./worker.ts";

/** Number of Workers: when one is cut off, the other serves until its successor has started. */
const WORKERS = 2;
/** Minimum free descriptors: a Worker that finds fewer than three ends the whole process. */
const DESCRIPTORS_FREE_MIN = 8;
const WAITING_MAX = 1_024;
const WAIT_MS = 30_000;
/** Number of Workers kept idle: one, as descriptors may be scarce later; each costs 4 MB. */
const WORKERS_AT_REST = 1;
/** Delay of the first Worker, which must not slow the start of the service. */
const START_AFTER_MS = 500;

/** `busy`: no Worker was free in time · `failed`: the task has a bug, which was logged. */
export type Uncomputed = "timeout" | "busy" | "aborted" | "failed";
export type Computed<Output> = { ok: true; value: Output } | { ok: false; reason: Uncomputed };

export interface ComputeOptions {
  /** Accounts take turns, and each has at most one Worker at a time. */
  account: string;
  signal?: AbortSignal;
}

export interface Compute {
  run<Input, Output>(
    task: ComputeTask<Input, Output>,
    input: Input,
    options: ComputeOptions,
  ): Promise<Computed<Output>>;
}

export type ComputeService = Compute & Service & { show?(metrics: Metrics): void };

export interface ComputePoolOptions {
  script: URL;
  clock: Clock;
  log: Log;
}

const NEVER = new AbortController().signal;

export class ComputePool implements ComputeService {
  readonly name = "compute";
  readonly #options: ComputePoolOptions;
  readonly #workers = new Set<ComputeWorker>();
  readonly #queue: FairQueue<ComputeWorker>;
  #cancelStart = () => {};
  #isClosed = false;

  constructor(options: ComputePoolOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.clock, WAITING_MAX);
  }

  show(metrics: Metrics): void {
    metrics.gauge(
      { name: "wadi_compute_tasks_waiting", help: "Computations that wait for a Worker." },
      (set) => set(this.#queue.size),
    );
  }

  start(): void {
    const { clock } = this.#options;
    this.#cancelStart = clock.after(START_AFTER_MS, () => this.#grow(WORKERS_AT_REST));
  }

  stop(): void {
    this.#isClosed = true;
    this.#cancelStart();
    for (const worker of this.#workers) worker.close();
  }

  async run<Input, Output>(
    { name, timeoutMs }: ComputeTask<Input, Output>,
    input: Input,
    { account, signal = NEVER }: ComputeOptions,
  ): Promise<Computed<Output>> {
    if (signal.aborted) return { ok: false, reason: "aborted" };
    this.#grow();
    if (this.#workers.size === 0) return { ok: false, reason: "busy" };
    const free = this.#queue.size === 0 ? this.#take(account) : null;
    const worker = free ?? (await this.#wait(account, signal));
    if (worker === "left") return { ok: false, reason: "aborted" };
    if (worker === "full" || worker === "late") return { ok: false, reason: "busy" };
    const end = await worker.perform({ task: name, input }, timeoutMs);
    worker.account = null;
    this.#queue.serve();
    if (typeof end === "object" && "value" in end) return { ok: true, value: end.value as Output };
    return { ok: false, reason: this.#logFailure(name, end) };
  }

  #grow(count = WORKERS): void {
    const { script, clock } = this.#options;
    while (
      !this.#isClosed &&
      this.#workers.size < count &&
      hasFreeDescriptors(DESCRIPTORS_FREE_MIN)
    ) {
      const onEnd = (error: Error | null) => this.#replace(worker, error);
      const worker = new ComputeWorker(script, clock, onEnd);
      this.#workers.add(worker);
    }
    this.#queue.serve();
  }

  #replace(worker: ComputeWorker, error: Error | null): void {
    this.#workers.delete(worker);
    if (error) this.#options.log.error("compute: a worker ended", { error });
    // A Worker that fails at its start is replaced only for a waiting task.
    if (!error || this.#queue.size > 0) this.#grow();
  }

  #take(account: string): ComputeWorker | null {
    const workers = [...this.#workers];
    if (workers.some((worker) => worker.account === account)) return null;
    const free = workers.find((worker) => worker.account === null);
    if (free) free.account = account;
    return free ?? null;
  }

  #wait(account: string, signal: AbortSignal) {
    const find = () => this.#take(account);
    const request = { account, find, isSkippable: true, timeoutMs: WAIT_MS, signal };
    const found = this.#queue.wait(request);
    this.#queue.serve();
    return found;
  }

  #logFailure(task: string, end: Exclude<JobEnd, { value: unknown }>): Uncomputed {
    const { log } = this.#options;
    if (end === "timeout") log.warn("compute: a task was cut off", { code: task });
    if (typeof end === "string") return end === "timeout" ? "timeout" : "failed";
    const { message, stack = message } = end.bug;
    const error = Object.assign(new Error(message), { stack });
    log.error("compute: a task failed", { code: task, error });
    return "failed";
  }
}

/** `timeout`: the job was cut off together with its Worker · `ended`: the Worker ended itself. */
type JobEnd = ComputeReply | "timeout" | "ended";

class ComputeWorker {
  account: string | null = null;
  readonly #clock: Clock;
  readonly #worker: Worker;
  /** Called once, before the job is settled; with null if the Worker was cut off or closed. */
  readonly #onEnd: (failure: Error | null) => void;
  #settle: (end: JobEnd) => void = () => {};
  #isOpen = true;

  constructor(script: URL, clock: Clock, onEnd: (failure: Error | null) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    const worker = openWorker(script);
    this.#worker = worker;
    // An idle Worker must not keep the process alive.
    worker.unref();
    worker.onmessage = ({ data }: { data: ComputeReply }) => this.#settle(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#end("ended", new Error(event.message));
    };
    worker.addEventListener("close", () => this.#end("ended", new Error("its thread ended")));
  }

  perform(order: ComputeOrder, timeoutMs: number): Promise<JobEnd> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(timeoutMs, () => this.#end("timeout", null));
      this.#settle = (end) => {
        this.#settle = () => {};
        cancel();
        resolve(end);
      };
      try {
        this.#worker.postMessage(order);
      } catch (error) {
        // The input is no plain data.
        this.#settle({ bug: error as Error });
      }
    });
  }

  close(): void {
    this.#end("ended", null);
  }

  #end(end: JobEnd, failure: Error | null): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#worker.terminate();
    this.#onEnd(failure);
    this.#settle(end);
  }
}
