// The capacity that all accounts share: slots, a short queue, and an estimate of the wait.
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import { FairQueue } from "../../platform/fair-queue.ts";

/** Maximum wait in the queue: callers have time-outs of their own. */
const QUEUED_MS_MAX = 10_000;
const NEWEST_WEIGHT = 0.2;

export interface CapacitySize {
  max_concurrent: number;
  max_queued: number;
}

/** The process that has taken over, which decides on slots for this one too. */
export interface CapacityLeader {
  take(): Promise<boolean>;
  release(): void;
}

export class Capacity {
  readonly #clock: Clock;
  readonly #queue: FairQueue<true>;
  #size: CapacitySize;
  #inUse = 0;
  /** Slots that another process uses: the one before this one. */
  #elsewhere = 0;
  #leader: CapacityLeader | null = null;
  /** Slots that the leader counts for this process. */
  #granted = 0;
  /** Number of running requests, and the sum of their start times, for their average age. */
  #begun = { count: 0, startMs: 0 };
  #durationMs: number | undefined;

  constructor(clock: Clock, size: CapacitySize) {
    this.#clock = clock;
    this.#size = size;
    this.#queue = new FairQueue<true>(clock, size.max_queued);
  }

  /**
   * gateway.limits.shared_capacity: does the work as soon as a slot is free. Throws
   * `capacity_exceeded` if the queue is full or the wait too long.
   */
  async use<R>(account: string, signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    const done = await this.tryUse(account, signal, work);
    if (done) return done.result;
    // gateway.errors.capacity_exceeded, gateway.errors.headers.retry_after
    const headers = { "retry-after": `${this.freeInMs() / 1000}` };
    throw apiError("capacity_exceeded", { headers });
  }

  /** Does the same, but returns null instead of `capacity_exceeded`. */
  async tryUse<R>(
    account: string,
    signal: AbortSignal,
    work: () => Promise<R>,
  ): Promise<{ result: R } | null> {
    if (signal.aborted) throw apiError("client_closed_request");
    // A released slot goes to the queue at once: with a free slot the queue is empty.
    const find = () => this.#take();
    if (this.#leader && (await this.#leader.take().catch(() => true))) this.#granted += 1;
    if (!find()) {
      // Only slots of requests that end here are left to those that wait already.
      if (this.#leader || this.#size.max_queued === 0) return null;
      const request = { account, find, isSkippable: false, timeoutMs: QUEUED_MS_MAX, signal };
      const slot = await this.#queue.wait(request);
      if (slot === "left") throw apiError("client_closed_request");
      if (slot !== true) return null;
    }
    const startMs = this.#clock.monotonic();
    this.#begun.count += 1;
    this.#begun.startMs += startMs;
    try {
      return { result: await work() };
    } finally {
      this.#release(startMs);
    }
  }

  /** Estimated milliseconds until all present requests are done, in whole seconds. */
  freeInMs(): number {
    const waiting = this.#elsewhere + this.#queue.size;
    const rounds = (this.#inUse + waiting) / this.#size.max_concurrent;
    return 1000 * Math.max(1, Math.ceil((rounds * this.#expectedMs()) / 1000));
  }

  change(size: CapacitySize): void {
    this.#size = size;
    this.#queue.sizeMax = size.max_queued;
    this.#queue.serve();
  }

  /** Sets the number of slots that another process uses. */
  import(elsewhere: number): void {
    this.#elsewhere = elsewhere;
    this.#queue.serve();
  }

  takeElsewhere(): boolean {
    if (this.#countFree() <= 0) return false;
    this.#elsewhere += 1;
    return true;
  }

  releaseElsewhere(): void {
    this.#elsewhere -= 1;
    this.#queue.serve();
  }

  /** Lets another process decide, which counts the slots in use here; null decides here again. */
  follow(leader: CapacityLeader | null): void {
    this.#leader = leader;
    this.#granted = this.#inUse;
    this.#queue.serve();
  }

  status(): { inUse: number; queued: number } {
    return { inUse: this.#inUse, queued: this.#queue.size };
  }

  #take(): true | null {
    if (this.#countFree() <= 0) return null;
    this.#inUse += 1;
    return true;
  }

  #countFree(): number {
    if (this.#leader) return this.#granted - this.#inUse;
    return this.#size.max_concurrent - this.#inUse - this.#elsewhere;
  }

  #release(startMs: number): void {
    const durationMs = this.#clock.monotonic() - startMs;
    this.#inUse -= 1;
    this.#begun.count -= 1;
    this.#begun.startMs -= startMs;
    const before = this.#durationMs ?? durationMs;
    this.#durationMs = before + (durationMs - before) * NEWEST_WEIGHT;
    this.#queue.serve();
    if (!this.#leader || this.#inUse === this.#granted) return;
    this.#granted -= 1;
    this.#leader.release();
  }

  /** Includes the age of present requests, all of which may hang. */
  #expectedMs(): number {
    const { count, startMs } = this.#begun;
    const ageMs = count === 0 ? 0 : this.#clock.monotonic() - startMs / count;
    return Math.max(this.#durationMs ?? 0, ageMs);
  }
}
