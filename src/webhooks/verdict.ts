// What an attempt came to, by what the endpoint answered or did not.
import type { Clock } from "../platform/clock.ts";
import { cleanText } from "../platform/database/index.ts";
import { type GuardedOutcome, type GuardedReply, isRedirect } from "../platform/egress/index.ts";
import { readRetryAfter } from "../platform/retry-after.ts";

/** So much of an answer is kept, for people. */
export const RESPONSE_BYTES_MAX = 4_096;
/** Who is overloaded, or did not answer in time, is not asked again sooner. */
const OVERLOADED_WAIT_MS = 60_000;
const OVERLOADED = [429, 502, 504];
const GONE = 410;

/** How attempts are told apart in figures. */
export const ATTEMPT_ENDS = ["delivered", "rejected", "timeout", "unreachable"] as const;
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];

export interface Verdict {
  end: AttemptEnd;
  /** It wants no more events. */
  is_gone: boolean;
  response_status: number | null;
  response_body: string | null;
  /** null: it was delivered. */
  error: string | null;
  /** Sooner would be of no use. */
  least_wait_ms: number;
  /** What the endpoint asked for; null: nothing. */
  retry_after_ms: number | null;
}

/** null: the attempt was given up on our side, and says nothing of the endpoint. */
export function judgeOutcome(outcome: GuardedOutcome, clock: Clock): Verdict | null {
  if (outcome.ok) {
    const retry_after_ms = readRetryAfter(outcome.headers.get("retry-after"), clock);
    const verdict = judgeStatus(outcome.status, isRedirect(outcome));
    return { ...verdict, retry_after_ms, response_body: readBody(outcome) };
  }
  const { code, status, say } = outcome;
  if (code === "aborted") return null;
  const least_wait_ms = code === "timeout" ? OVERLOADED_WAIT_MS : 0;
  if (status !== null) {
    // The status is the answer, though its text broke off.
    const verdict = judgeStatus(status, false);
    return { ...verdict, least_wait_ms: Math.max(verdict.least_wait_ms, least_wait_ms) };
  }
  const end = code === "timeout" ? "timeout" : "unreachable";
  return { ...NO_ANSWER, end, error: say, least_wait_ms };
}

const NO_ANSWER = {
  ...{ is_gone: false, response_status: null, response_body: null, retry_after_ms: null },
} as const;

function judgeStatus(status: number, isElsewhere: boolean): Verdict {
  const known = { ...NO_ANSWER, response_status: status, least_wait_ms: 0 };
  if (status >= 200 && status < 300) return { ...known, end: "delivered", error: null };
  const why = isElsewhere ? ": redirects are not followed" : "";
  return {
    ...known,
    end: "rejected",
    is_gone: status === GONE,
    error: `The endpoint answered ${status}${why}.`,
    least_wait_ms: OVERLOADED.includes(status) ? OVERLOADED_WAIT_MS : 0,
  };
}

/** As people can read it, whatever it is; null: there was none. */
function readBody({ body, truncated }: GuardedReply): string | null {
  if (body.length === 0) return null;
  // A character that lies across the end is left out, not made another.
  const text = cleanText(new TextDecoder().decode(body, { stream: truncated }));
  // What is no text becomes longer by being made one.
  return Buffer.byteLength(text) <= RESPONSE_BYTES_MAX ? text : cutText(text);
}

function cutText(text: string): string {
  const bytes = Buffer.from(text).subarray(0, RESPONSE_BYTES_MAX);
  return new TextDecoder().decode(bytes, { stream: true });
}
