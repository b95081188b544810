// When a delivery is tried again: the waits between its attempts, and what may lengthen them.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Behind the first attempt, the second … The last has none behind it. */
const WAITS_MS = [
  ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS],
  ...[10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
] as const;
/** From the second wait on: what failed together does not come again together. */
const JITTER = 0.2;
/** What a server says can put an attempt off by so much, and never bring it forward. */
const DELAY_MAX_MS = 10 * HOUR_MS;

/** The longest that a delivery can have to wait for its next attempt. */
export const WAIT_MAX_MS = 24 * HOUR_MS * (1 + JITTER) + DELAY_MAX_MS;
/** Should an endpoint that wants no more not be disabled at once, it is asked again. */
export const GONE_WAIT_MS = MINUTE_MS;

export interface Failed {
  /** Attempts so far, this one with them. */
  tries: number;
  /** What the server asked for; null: nothing. */
  retry_after_ms: number | null;
  /** Sooner would be of no use. */
  least_ms: number;
  /** From 0 up to 1, of chance. */
  fraction: number;
}

/** How long until the next attempt; null: there is none. */
export function planWait({ tries, retry_after_ms, least_ms, fraction }: Failed): number | null {
  const wait_ms = WAITS_MS[tries - 1];
  if (wait_ms === undefined) return null;
  const spread = tries === 1 ? 1 : 1 - JITTER + 2 * JITTER * fraction;
  const planned_ms = Math.round(wait_ms * spread);
  const asked_ms = Math.min(retry_after_ms ?? 0, planned_ms + DELAY_MAX_MS);
  return Math.max(planned_ms, least_ms, asked_ms);
}
