// When a delivery is tried again: the waits between its attempts, and what may lengthen them.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Wait after the first failed attempt, the second, and so on; after the last there is none. */
const WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
/** Jitter of each wait from the second on, so that failures do not return together. */
const JITTER = 0.2;
/** Maximum delay that a server can ask for; it never brings an attempt forward. */
const DELAY_MAX_MS = 10 * HOUR_MS;

export const RETRY_WAIT_MAX_MS = 24 * HOUR_MS * (1 + JITTER) + DELAY_MAX_MS;
/** Wait after a 410 whose endpoint is not disabled, because it was changed meanwhile. */
export const GONE_WAIT_MS = MINUTE_MS;

export interface FailedAttempt {
  tries: number;
  /** Delay that the server asked for, or 0. */
  retryAfterMs: number;
  /** Minimum wait for this kind of response. */
  leastWaitMs: number;
  /** Random number from 0 to 1, for the jitter. */
  fraction: number;
}

export function planRetry({
  tries,
  retryAfterMs,
  leastWaitMs,
  fraction,
}: FailedAttempt): { kind: "exhausted" } | { kind: "retry"; waitMs: number } {
  const waitMs = WAITS_MS[tries - 1];
  if (waitMs === undefined) return { kind: "exhausted" };
  const spread = tries === 1 ? 1 : 1 - JITTER + 2 * JITTER * fraction;
  const plannedMs = Math.round(waitMs * spread);
  const askedMs = Math.min(retryAfterMs, plannedMs + DELAY_MAX_MS);
  return { kind: "retry", waitMs: Math.max(plannedMs, leastWaitMs, askedMs) };
}
