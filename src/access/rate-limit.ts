// A rate limit in memory: a maximum of requests in any window, by name.
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";

export interface LimitRule {
  requests_max: number;
  windowMs: number;
  /** Time for which an exceeded counter stays closed; 0: it never closes, its window slides. */
  closingMs: number;
  /** Maximum tracked names; least recently used are evicted. Set it where callers make up names. */
  namesMax?: number;
}

/** Counters by name: the time for which each stays closed, and the ages of its requests. */
export type LimiterState = [name: string, closedMs: number, ages: number[]][];

/** Counts a request of a name elsewhere; see `claim`. null: no place can tell now. */
export type ClaimElsewhere = (name: string, rule: LimitRule) => Promise<number | null>;

/** Time after which a request is tried again that could be counted nowhere. */
const UNTOLD_MS = 1_000;

interface Counter {
  /** Times of the last requests as a ring; `next` is the oldest. */
  takenAt: Float64Array;
  next: number;
  closedUntil: number;
}

/** Size of a new ring, which grows as needed: most accounts stay far below their limit. */
const RING_MIN = 16;
/** Share of names that an eviction leaves. */
const KEPT_SHARE = 0.9;
/** Number of requests between two removals of idle counters. */
const SWEEP_EVERY = 10_000;

/**
 * gateway.limits.rate, gateway.limits.after_exceeding; gateway.limits.tokens_per_minute_daily:
 * counts requests only.
 */
export class RateLimiter {
  readonly #clock: Clock;
  #rule: LimitRule;
  readonly #counters = new Map<string, Counter>();
  #requests = 0;
  #claimElsewhere: ClaimElsewhere | null = null;

  constructor(clock: Clock, rule: LimitRule) {
    this.#clock = clock;
    this.#rule = rule;
  }

  /**
   * Counts one request of `name`, or refuses it with the exact `Retry-After`. Returns a promise
   * only where another process counts.
   */
  take(name: string): Promise<void> | null {
    const waitMs = this.claim(name);
    if (typeof waitMs !== "number") return waitMs.then(requireNoWait);
    requireNoWait(waitMs);
    return null;
  }

  /** Counts one request and returns 0, or returns how long none will be counted. */
  claim(name: string): number | Promise<number> {
    return this.#claimElsewhere ? this.#follow(name, this.#claimElsewhere) : this.#claim(name);
  }

  /** Lets others count from now on, and notes what they allow; null counts here again. */
  follow(claimElsewhere: ClaimElsewhere | null): void {
    this.#claimElsewhere = claimElsewhere;
  }

  export(): LimiterState {
    const now = this.#clock.monotonic();
    const { windowMs } = this.#rule;
    return [...this.#counters].flatMap(([name, { takenAt, next, closedUntil }]) => {
      const ordered = [...takenAt.subarray(next), ...takenAt.subarray(0, next)];
      const ages = ordered.map((at) => now - at).filter((age) => age < windowMs);
      const closedMs = Math.max(0, closedUntil - now);
      return ages.length > 0 || closedMs > 0 ? [[name, closedMs, ages]] : [];
    });
  }

  /** Continues the counters of another process. */
  import(state: LimiterState): void {
    const now = this.#clock.monotonic();
    for (const [name, closedMs, ages] of state) {
      const takenAt = Float64Array.from(ages, (age) => now - age);
      this.#counters.set(name, { takenAt, next: 0, closedUntil: now + closedMs });
    }
  }

  async #follow(name: string, claimElsewhere: ClaimElsewhere): Promise<number> {
    let waitMs: number | null;
    try {
      waitMs = await claimElsewhere(name, this.#rule);
    } catch {
      // The other process has ended.
      return this.#claim(name);
    }
    if (waitMs === null) return UNTOLD_MS;
    const counter = this.#find(name);
    const now = this.#clock.monotonic();
    if (waitMs === 0) {
      this.#makeRoom(counter, now);
      this.#count(counter, now);
    } else if (this.#rule.closingMs > 0) counter.closedUntil = now + waitMs;
    return waitMs;
  }

  #claim(name: string): number {
    const now = this.#clock.monotonic();
    if (++this.#requests % SWEEP_EVERY === 0) this.#removeIdle(now);
    const { windowMs, closingMs } = this.#rule;
    const counter = this.#find(name);
    if (counter.closedUntil > now) return counter.closedUntil - now;
    this.#makeRoom(counter, now);
    const freeAt = findOldest(counter, this.#rule.requests_max) + windowMs;
    if (freeAt > now) {
      if (closingMs === 0) return freeAt - now;
      // Refused requests don't prolong the closing, or clients that retry early never get in.
      counter.closedUntil = now + closingMs;
      return closingMs;
    }
    this.#count(counter, now);
    return 0;
  }

  /** Only requests inside the window count; a full ring below the limit grows. */
  #makeRoom(counter: Counter, now: number): void {
    const { length } = counter.takenAt;
    const isFull = length === 0 || counter.takenAt[counter.next]! + this.#rule.windowMs > now;
    if (isFull && length < this.#rule.requests_max) growRing(counter, this.#rule.requests_max);
  }

  #count(counter: Counter, now: number): void {
    counter.takenAt[counter.next] = now;
    counter.next = (counter.next + 1) % counter.takenAt.length;
  }

  /** Applies another maximum from the next request on; counted requests stay counted. */
  change(requestsMax: number): void {
    const isMore = requestsMax > this.#rule.requests_max;
    this.#rule = { ...this.#rule, requests_max: requestsMax };
    if (isMore) for (const counter of this.#counters.values()) counter.closedUntil = 0;
  }

  #find(name: string): Counter {
    const { namesMax } = this.#rule;
    const known = this.#counters.get(name);
    if (known && namesMax === undefined) return known;
    const counter = known ?? { takenAt: new Float64Array(0), next: 0, closedUntil: 0 };
    // A map keeps insertion order: names used last move to its end.
    if (known) this.#counters.delete(name);
    this.#counters.set(name, counter);
    if (namesMax !== undefined && this.#counters.size > namesMax) this.#evict(namesMax);
    return counter;
  }

  /** Evicts many at once: finding the first key of a map walks over all deleted ones. */
  #evict(namesMax: number): void {
    for (const name of this.#counters.keys()) {
      if (this.#counters.size <= namesMax * KEPT_SHARE) break;
      this.#counters.delete(name);
    }
  }

  #removeIdle(now: number): void {
    for (const [name, { takenAt, next, closedUntil }] of this.#counters) {
      const newest = takenAt[(next + takenAt.length - 1) % takenAt.length]!;
      if (newest <= now - this.#rule.windowMs && closedUntil <= now) this.#counters.delete(name);
    }
  }
}

function requireNoWait(waitMs: number): void {
  if (waitMs === 0) return;
  // gateway.errors.rate_limit_exceeded
  // gateway.errors.headers.retry_after: whole seconds, at least 1, never too early.
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  throw apiError("rate_limit_exceeded", { headers: { "retry-after": String(seconds) } });
}

function growRing(counter: Counter, requestsMax: number): void {
  const { takenAt, next } = counter;
  const length = Math.min(requestsMax, Math.max(RING_MIN, 2 * takenAt.length));
  // Copies the old ring to the end of the new one, oldest first; slot 0 is free.
  counter.takenAt = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
  counter.takenAt.set(takenAt.subarray(next), length - takenAt.length);
  counter.takenAt.set(takenAt.subarray(0, next), length - next);
  counter.next = 0;
}

/** Finds the oldest request that counts: a ring from a higher limit holds older ones too. */
function findOldest({ takenAt, next }: Counter, requestsMax: number): number {
  const { length } = takenAt;
  const back = Math.min(length, requestsMax);
  return takenAt[(next - back + length) % length]!;
}
