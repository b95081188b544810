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

/** Interval at which requests in the line ask for a slot that another process has given back. */
const ASK_EVERY_MS = 100;
/** Time for which slots go to this process's own line, before others may have one. */
const OWN_MS = 1_000;

/** Decides on slots for this process too: the one that has taken over, or one for all. */
export interface CapacityLeader {
  take(max: number): Promise<boolean>;
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
  /** Several processes share the slots for good, and each has a line of its own. */
  #hasLine = true;
  #isAsking = false;
  #givenBackAt = Number.NEGATIVE_INFINITY;
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
    // Requests in the line come first.
    const leader = this.#hasLine && this.#queue.size > 0 ? null : this.#leader;
    if (leader && (await leader.take(this.#size.max_concurrent).catch(() => true))) {
      this.#granted += 1;
    }
    if (!find()) {
      // Only slots of requests that end here are left to those that wait already.
      if (!this.#hasLine || this.#size.max_queued === 0) return null;
      this.#askLater();
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

  /** Lets a leader decide, which counts the slots in use here; null decides here again. */
  follow(leader: CapacityLeader | null, hasLine = leader === null): void {
    this.#leader = leader;
    this.#hasLine = hasLine;
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
    const now = this.#clock.monotonic();
    if (this.#hasLine && now - this.#givenBackAt >= OWN_MS) {
      this.#givenBackAt = now;
      this.#giveBack();
    }
    this.#queue.serve();
    this.#giveBack();
  }

  /** Gives unused slots back to the leader. */
  #giveBack(): void {
    while (this.#leader && this.#granted > this.#inUse) {
      this.#granted -= 1;
      this.#leader.release();
    }
  }

  #askLater(): void {
    if (this.#isAsking || !this.#leader) return;
    this.#isAsking = true;
    this.#clock.after(ASK_EVERY_MS, () => void this.#askForLine());
  }

  async #askForLine(): Promise<void> {
    const { max_concurrent } = this.#size;
    while (this.#queue.size > 0 && (await this.#leader?.take(max_concurrent))) {
      this.#granted += 1;
      this.#queue.serve();
      this.#giveBack();
    }
    this.#isAsking = false;
    if (this.#queue.size > 0) this.#askLater();
  }

  /** Includes the age of present requests, all of which may hang. */
  #expectedMs(): number {
    const { count, startMs } = this.#begun;
    const ageMs = count === 0 ? 0 : this.#clock.monotonic() - startMs / count;
    return Math.max(this.#durationMs ?? 0, ageMs);
  }
}
