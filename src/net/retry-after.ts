// What is believed of a server's word on when it may be asked again.
import type { Clock } from "../platform/clock.ts";

const SECOND_MS = 1_000;
/** Less is not told, lest we ask again in the same moment. */
const WAIT_MIN_MS = SECOND_MS;
/** No window of any plan is longer than a month. */
const WAIT_MAX_MS = 31 * 24 * 3_600 * SECOND_MS;

/** Within what can be; null: it is no number. */
export function clampRetryAfter(wait_ms: number): number | null {
  if (Number.isNaN(wait_ms)) return null;
  return Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, wait_ms));
}

/** Of `Retry-After`, in seconds or as a date; null: it says nothing. */
export function readRetryAfter(value: string | null, clock: Clock): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value)) return clampRetryAfter(Number(value) * SECOND_MS);
  return clampRetryAfter(Date.parse(value) - clock.now());
}
