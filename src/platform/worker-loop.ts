// Runs background work one pass at a time: again on a wake-up, later by the clock, and only after
// a rest when a pass failed.
import type { Cancel, Clock } from "./clock.ts";

/** When the next pass begins, unless a wake-up comes first. */
export type NextPass = "now" | "on_wake" | { inMs: number };

export interface WorkerLoopOptions {
  clock: Pick<Clock, "monotonic" | "after">;
  /** One pass; `stopping` aborts when the loop is stopped. */
  work(stopping: AbortSignal): Promise<NextPass>;
  onError(error: unknown): void;
  /** Rest after that many failed passes in a row; wake-ups wait for its end. */
  retryMs: number | ((failures: number) => number);
}

export class WorkerLoop {
  readonly #options: WorkerLoopOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #timer: { dueAt: number; cancel: Cancel } | undefined;
  #isWoken = false;
  #isPaused = false;
  #isResting = false;
  #failures = 0;

  constructor(options: WorkerLoopOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Begins a pass at once, or right after the one under way, which may have missed the cause. */
  wake(): void {
    this.#isWoken = true;
    if (this.#running || this.#isResting || !this.#mayRun()) return;
    // Set before the pass begins, since that may wake the loop itself.
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    void this.#run().finally(resolve);
  }

  wakeWithin(delayMs: number): void {
    if (this.#isResting || this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    const dueAt = clock.monotonic() + delayMs;
    if (this.#timer && this.#timer.dueAt <= dueAt) return;
    this.#setTimer(dueAt, delayMs);
  }

  /** Begins no pass until `resume`, and waits for the one under way. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#running;
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#clearTimer();
    await this.#running;
  }

  async #run(): Promise<void> {
    let next: NextPass | "rest" = "now";
    while (next === "now" && this.#mayRun()) {
      this.#isWoken = false;
      this.#clearTimer();
      next = await this.#pass();
      if (this.#isWoken && next !== "rest") next = "now";
    }
    this.#running = undefined;
    if (next === "rest") this.#rest();
    else if (typeof next === "object") this.wakeWithin(next.inMs);
  }

  #mayRun(): boolean {
    return !this.#isPaused && !this.#stopping.signal.aborted;
  }

  async #pass(): Promise<NextPass | "rest"> {
    try {
      const next = await this.#options.work(this.#stopping.signal);
      this.#failures = 0;
      return next;
    } catch (error) {
      this.#failures += 1;
      this.#options.onError(error);
      return "rest";
    }
  }

  #rest(): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, retryMs } = this.#options;
    const restMs = typeof retryMs === "number" ? retryMs : retryMs(this.#failures);
    this.#isResting = true;
    this.#setTimer(clock.monotonic() + restMs, restMs);
  }

  #setTimer(dueAt: number, delayMs: number): void {
    this.#clearTimer();
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#isResting = false;
      this.wake();
    });
    this.#timer = { dueAt, cancel };
  }

  #clearTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
