// Tells failures that have used nothing from those whose use stays unknown.
import type { CompletionStats, UpstreamCode, UpstreamError } from "../../models/index.ts";

/** Codes of servers that did not begin to work. */
const UNASKED: readonly UpstreamCode[] = [
  "context_length_exceeded",
  "upstream_rate_limited",
  "model_unavailable",
  "model_offline",
];

/** A server that was cut off has read the request; one that refused it has used nothing. */
export function isUnasked(failure: UpstreamError & CompletionStats): boolean {
  const { attempts, isUnsent, upstreamStatus, code, endedBy, usage } = failure;
  if (usage || endedBy) return false;
  const isRefused = upstreamStatus !== undefined || UNASKED.includes(code);
  return attempts === 0 || isUnsent === true || isRefused;
}
