// Reads when a server says it may be asked again, and bounds what is believed.
import type { Clock } from "../platform/clock.ts";

const SECOND_MS = 1_000;
/** Minimum wait, so that a caller does not retry at once. */
const RETRY_AFTER_MIN_MS = SECOND_MS;
/** Maximum wait: no window of any plan is longer than a month. */
const RETRY_AFTER_MAX_MS = 31 * 24 * 3_600 * SECOND_MS;

export function clampRetryAfter(waitMs: number): number | null {
  if (Number.isNaN(waitMs)) return null;
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(RETRY_AFTER_MIN_MS, waitMs));
}

/** Reads `Retry-After`, in seconds or as a date; null if it holds neither. */
export function readRetryAfter(value: string | null, clock: Clock): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value)) return clampRetryAfter(Number(value) * SECOND_MS);
  return clampRetryAfter(Date.parse(value) - clock.now());
}
