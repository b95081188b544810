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
  readonly #rule: LimitRule;
  readonly #counters = new Map<string, Counter>();
  #requestsMax: number;
  #requests = 0;

  constructor(clock: Clock, rule: LimitRule) {
    this.#clock = clock;
    this.#rule = rule;
    this.#requestsMax = rule.requests_max;
  }

  /** Counts one request of `name`, or refuses it with the exact `Retry-After`. */
  take(name: string): void {
    const waitMs = this.claim(name);
    if (waitMs === 0) return;
    // gateway.errors.rate_limit_exceeded
    // gateway.errors.headers.retry_after: whole seconds, at least 1, never too early.
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    throw apiError("rate_limit_exceeded", { headers: { "retry-after": String(seconds) } });
  }

  /** Counts one request and returns 0, or returns how long none will be counted. */
  claim(name: string): number {
    const now = this.#clock.monotonic();
    if (++this.#requests % SWEEP_EVERY === 0) this.#removeIdle(now);
    const { windowMs, closingMs } = this.#rule;
    const counter = this.#find(name);
    if (counter.closedUntil > now) return counter.closedUntil - now;
    // Only requests inside the window count; a full ring below the limit grows.
    const { length } = counter.takenAt;
    const isFull = length === 0 || counter.takenAt[counter.next]! + windowMs > now;
    if (isFull && length < this.#requestsMax) growRing(counter, this.#requestsMax);
    const freeAt = findOldest(counter, this.#requestsMax) + windowMs;
    if (freeAt > now) {
      if (closingMs === 0) return freeAt - now;
      // Refused requests don't prolong the closing, or clients that retry early never get in.
      counter.closedUntil = now + closingMs;
      return closingMs;
    }
    counter.takenAt[counter.next] = now;
    counter.next = (counter.next + 1) % counter.takenAt.length;
    return 0;
  }

  /** Applies another maximum from the next request on; counted requests stay counted. */
  change(requestsMax: number): void {
    const isMore = requestsMax > this.#requestsMax;
    this.#requestsMax = requestsMax;
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
