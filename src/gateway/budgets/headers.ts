// The headers x-ratelimit-… of replies to callers with limits.
import type { Measure } from "../../access/index.ts";
import type { SubjectUse } from "./amounts.ts";
import { type LimitedSubject, listLimits } from "./excess.ts";

export interface ReservedUse {
  subject: LimitedSubject;
  uses: SubjectUse;
}

/** Headers of replies, for the API document. */
export const LIMIT_HEADERS = [
  ...(["x-ratelimit-limit-requests", "x-ratelimit-limit-tokens"] as const),
  ...(["x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"] as const),
  ...(["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"] as const),
];

/** Headers of refusals, for the API document. */
export const LIMIT_ERROR_HEADERS = ["x-should-retry", ...LIMIT_HEADERS] as const;

/** Measures of the headers that clients know. */
const SHOWN: readonly Measure[] = ["requests", "tokens"];

/** Shows the limit of each measure with the least left. */
export function writeLimitHeaders(
  found: readonly ReservedUse[],
  now: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const least = new Map<Measure, number>();
  for (const { subject, uses } of found) {
    for (const { maximum, measure, period } of listLimits(subject)) {
      const { used, reserved, end } = uses[period];
      const left = Math.max(0, maximum - used[measure] - reserved[measure]);
      if (!SHOWN.includes(measure) || left >= (least.get(measure) ?? Infinity)) continue;
      least.set(measure, left);
      headers[`x-ratelimit-limit-${measure}`] = String(maximum);
      headers[`x-ratelimit-remaining-${measure}`] = String(left);
      headers[`x-ratelimit-reset-${measure}`] = writeTime(end - now);
    }
  }
  return headers;
}

/** Writes `6m0s`, as clients of this form know it. */
function writeTime(timeMs: number): string {
  const seconds = Math.ceil(timeMs / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
