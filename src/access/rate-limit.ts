// The limiter in memory: so many requests in any window, and closed for a while once exceeded.
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";

export interface LimitRule {
  /** Requests in any `window_ms`. */
  requests_max: number;
  window_ms: number;
  /** After a request too many the counter stays closed this long; 0: it slides on. */
  closingMs: number;
  /** Of more, those who asked longest ago are forgotten; left out: no stranger makes names. */
  names_max?: number;
}

export interface Limiter {
  /** Counts one request of `name`, or refuses it with the exact `Retry-After`. */
  take(name: string): void;
}

/** Of whom one can also learn how long to wait, rather than be refused. */
export interface WaitingLimiter extends Limiter {
  /** 0: one request of `name` was counted; else none was, and so long from now on none will be. */
  claim(name: string): number;
}

export interface ReloadableLimiter extends WaitingLimiter {
  /** Another most, in force from the next request on; what was counted stays counted. */
  change(requests_max: number): void;
}

interface Counter {
  /** When the last requests were taken, as a ring; `next` is the oldest. */
  takenAt: Float64Array;
  next: number;
  closedUntil: number;
}

/** A ring grows with what is taken: most accounts never come near the most that they may. */
const RING_LEAST = 16;

/** Twice as long, but no longer than `requests_max`; what was never taken is the oldest. */
function growRing({ takenAt, next }: Counter, requests_max: number): Float64Array<ArrayBuffer> {
  const length = Math.min(requests_max, Math.max(RING_LEAST, 2 * takenAt.length));
  const grown = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
  grown.set(takenAt.subarray(next), length - takenAt.length);
  grown.set(takenAt.subarray(0, next), length - next);
  return grown;
}

/** When the last but `requests_max` was taken: a ring from a time of more holds older ones too. */
function oldestThatCounts({ takenAt, next }: Counter, requests_max: number): number {
  const { length } = takenAt;
  const back = Math.min(length, requests_max);
  return takenAt[(next - back + length) % length]!;
}

/** What is left of names that were too many. */
const KEPT_SHARE = 0.9;

/** How many takes lie between two looks for counters that nobody uses any more. */
const SWEEP_EVERY = 10_000;

/**
 * gateway.limits.rate, gateway.limits.after_exceeding; gateway.limits.tokens_per_minute_daily:
 * nothing but requests is counted.
 */
export function createLimiter(clock: Clock, rule: LimitRule): ReloadableLimiter {
  const { window_ms, closingMs, names_max = Number.POSITIVE_INFINITY } = rule;
  const isBounded = names_max < Number.POSITIVE_INFINITY;
  const counters = new Map<string, Counter>();
  let { requests_max } = rule;
  let takes = 0;

  const sweep = (now: number) => {
    for (const [name, counter] of counters) {
      const { length } = counter.takenAt;
      const isIdle = counter.takenAt[(counter.next + length - 1) % length]! <= now - window_ms;
      if (isIdle && counter.closedUntil <= now) counters.delete(name);
    }
  };
  /** Many at once: each time, a map looks for its first name behind all that were deleted. */
  const forgetIdlest = () => {
    for (const name of counters.keys()) {
      if (counters.size <= names_max * KEPT_SHARE) break;
      counters.delete(name);
    }
  };
  const find = (name: string): Counter => {
    const counter = counters.get(name) ?? {
      takenAt: new Float64Array(0),
      next: 0,
      closedUntil: 0,
    };
    // A map keeps its names in the order in which they came: who asks goes to its end.
    if (isBounded) counters.delete(name);
    counters.set(name, counter);
    if (counters.size > names_max) forgetIdlest();
    return counter;
  };
  const limiter: ReloadableLimiter = {
    take(name) {
      const wait_ms = limiter.claim(name);
      if (wait_ms > 0) throw exceed(wait_ms);
    },
    claim(name) {
      const now = clock.monotonic();
      if (++takes % SWEEP_EVERY === 0) sweep(now);
      const counter = (isBounded ? undefined : counters.get(name)) ?? find(name);
      if (counter.closedUntil > now) return counter.closedUntil - now;
      // Only what lies in the window counts: a ring that is too short for it grows.
      const { length } = counter.takenAt;
      const isFull = length === 0 || counter.takenAt[counter.next]! + window_ms > now;
      if (isFull && length < requests_max) {
        counter.takenAt = growRing(counter, requests_max);
        counter.next = 0;
      }
      const freeAt = oldestThatCounts(counter, requests_max) + window_ms;
      if (freeAt > now) {
        if (closingMs === 0) return freeAt - now;
        // Refused requests do not prolong the closing: clients that retry early would never get in.
        counter.closedUntil = now + closingMs;
        return closingMs;
      }
      counter.takenAt[counter.next] = now;
      counter.next = (counter.next + 1) % counter.takenAt.length;
      return 0;
    },
    change(otherMax) {
      const isMore = otherMax > requests_max;
      requests_max = otherMax;
      // Who was closed for too many was so by the old measure.
      if (isMore) for (const counter of counters.values()) counter.closedUntil = 0;
    },
  };
  return limiter;
}

/** gateway.errors.headers.retry_after: whole seconds, at least 1, never too early. */
function exceed(wait_ms: number) {
  // gateway.errors.rate_limit_exceeded
  const seconds = Math.max(1, Math.ceil(wait_ms / 1000));
  return apiError("rate_limit_exceeded", { headers: { "retry-after": String(seconds) } });
}
