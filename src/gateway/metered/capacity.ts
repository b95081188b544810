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

export class Capacity {
  readonly #clock: Clock;
  readonly #queue: FairQueue<true>;
  #size: CapacitySize;
  #inUse = 0;
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
    if (!find()) {
      if (this.#size.max_queued === 0) return null;
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
    const rounds = (this.#inUse + this.#queue.size) / this.#size.max_concurrent;
    return 1000 * Math.max(1, Math.ceil((rounds * this.#expectedMs()) / 1000));
  }

  change(size: CapacitySize): void {
    this.#size = size;
    this.#queue.sizeMax = size.max_queued;
    this.#queue.serve();
  }

  status(): { inUse: number; queued: number } {
    return { inUse: this.#inUse, queued: this.#queue.size };
  }

  #take(): true | null {
    if (this.#inUse >= this.#size.max_concurrent) return null;
    this.#inUse += 1;
    return true;
  }

  #release(startMs: number): void {
    const durationMs = this.#clock.monotonic() - startMs;
    this.#inUse -= 1;
    this.#begun.count -= 1;
    this.#begun.startMs -= startMs;
    const before = this.#durationMs ?? durationMs;
    this.#durationMs = before + (durationMs - before) * NEWEST_WEIGHT;
    this.#queue.serve();
  }

  /** Includes the age of present requests, all of which may hang. */
  #expectedMs(): number {
    const { count, startMs } = this.#begun;
    const ageMs = count === 0 ? 0 : this.#clock.monotonic() - startMs / count;
    return Math.max(this.#durationMs ?? 0, ageMs);
  }
}
