// When a model that failed is asked again, and for how long.
import type { ErrorCode } from "../../platform/errors.ts";

/** Who is gone or busy comes back by itself: it is waited for so long. */
const PATIENT: readonly ErrorCode[] = [
  "model_offline",
  "no_model_available",
  "upstream_rate_limited",
  "rate_limit_exceeded",
  "capacity_exceeded",
];
const PATIENCE_MS = 600_000;
/** What failed may fail again: so many attempts, within so long. */
const OTHERS: readonly ErrorCode[] = [
  "upstream_error",
  "upstream_timeout",
  "model_unavailable",
  "service_unavailable",
  "internal_error",
];
const ATTEMPTS_MAX = 4;
const ATTEMPTS_WITHIN_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 30_000;

/** How a question has gone so far. */
export interface RetryState {
  attempts: number;
  /** Since the first of them failed. */
  passed_ms: number;
}

/**
 * How long to wait before the next attempt; null: there is none. `draw` is a fraction up to 1, by
 * which those that failed together come back apart.
 */
export function planRetry(
  failure: { code: ErrorCode; retry_after_ms?: number },
  { attempts, passed_ms }: RetryState,
  draw: number,
): number | null {
  const isPatient = PATIENT.includes(failure.code);
  if (!isPatient && !OTHERS.includes(failure.code)) return null;
  const within_ms = isPatient ? PATIENCE_MS : ATTEMPTS_WITHIN_MS;
  if (!isPatient && attempts >= ATTEMPTS_MAX) return null;
  const doubledMs = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), WAIT_MAX_MS);
  const wait_ms = Math.max(doubledMs * (0.75 + draw / 2), failure.retry_after_ms ?? 0);
  return passed_ms + wait_ms > within_ms ? null : Math.ceil(wait_ms);
}
