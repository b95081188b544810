// What becomes of a delivery by what an attempt at it came to; pure.
import { GONE_WAIT_MS, planWait } from "./schedule.ts";
import type { Claimed } from "./store/claim.ts";
import type { Attempt, Settlement } from "./store/settle.ts";
import type { Verdict } from "./verdict.ts";

type Times = Pick<Attempt, "started_at" | "duration_ms">;

/** The endpoint as it was when it was tried. */
export interface Place {
  url: string;
  /** When it had been changed last. */
  updated_at: number;
}

/** `fraction` is of chance, from 0 up to 1. */
export function settleAttempt(
  claimed: Claimed,
  verdict: Verdict,
  { now, fraction, url, updated_at, ...times }: Times & Place & { now: number; fraction: number },
): Settlement {
  const { response_status, response_body, error } = verdict;
  const attempt = { kind: claimed.kind, ...times, response_status, response_body, error };
  const about = { ...aboutOf(claimed), attempt, url, updated_at };
  if (error === null) return { ...about, came_to: "delivered" };
  if (verdict.is_gone) return { ...about, came_to: "gone", next_attempt_at: now + GONE_WAIT_MS };
  const { retry_after_ms, least_wait_ms: least_ms } = verdict;
  const wait_ms = planWait({ tries: claimed.tries + 1, retry_after_ms, least_ms, fraction });
  // Whoever tests an endpoint wants to know now.
  if (wait_ms === null || claimed.kind === "test") return { ...about, came_to: "failed" };
  return { ...about, came_to: "retry", next_attempt_at: now + wait_ms };
}

/** Of a delivery that nobody tried to send. */
export function settleUntried(claimed: Claimed, came_to: "released" | "expired"): Settlement {
  return { ...aboutOf(claimed), came_to };
}

function aboutOf({ id, webhook_id, epoch }: Claimed) {
  return { delivery_id: id, webhook_id, epoch };
}
