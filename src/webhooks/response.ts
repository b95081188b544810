// Classifies the response to an attempt and decides the result for its delivery.
import { cleanText } from "../database/index.ts";
import {
  type GuardedOutcome,
  type GuardedReply,
  isRedirect,
  readRetryAfter,
} from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import { GONE_WAIT_MS, planRetry } from "./retry-schedule.ts";
import type { ClaimedDelivery } from "./store/claim.ts";
import type { AttemptResult } from "./store/results.ts";

export const RESPONSE_BYTES_MAX = 4_096;
/** Least wait after a response that says overloaded, or after none in time. */
const OVERLOADED_WAIT_MS = 60_000;
const OVERLOADED = [429, 502, 504];
const GONE = 410;

export const ATTEMPT_OUTCOMES = ["delivered", "rejected", "timeout", "unreachable"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export interface EndpointResponse {
  outcome: AttemptOutcome;
  isGone: boolean;
  status: number | null;
  body: string | null;
  error: string | null;
  leastWaitMs: number;
  retryAfterMs: number;
}

/** `aborted`: this process gave the attempt up, which says nothing of the endpoint. */
export function classifyResponse(
  outcome: GuardedOutcome,
  clock: Clock,
): EndpointResponse | "aborted" {
  if (outcome.ok) {
    const retryAfterMs = readRetryAfter(outcome.headers.get("retry-after"), clock) ?? 0;
    const response = classifyStatus(outcome.status, isRedirect(outcome));
    return { ...response, retryAfterMs, body: readBody(outcome) };
  }
  const { code, status, message } = outcome;
  if (code === "aborted") return "aborted";
  const isTimeout = code === "timeout";
  const leastWaitMs = isTimeout ? OVERLOADED_WAIT_MS : 0;
  if (status !== null) {
    // The status decides, though the body broke off.
    const response = classifyStatus(status, false);
    return { ...response, leastWaitMs: Math.max(response.leastWaitMs, leastWaitMs) };
  }
  return {
    outcome: isTimeout ? "timeout" : "unreachable",
    isGone: false,
    status: null,
    body: null,
    error: message,
    leastWaitMs,
    retryAfterMs: 0,
  };
}

function classifyStatus(status: number, isRedirected: boolean): EndpointResponse {
  const isDelivered = status >= 200 && status < 300;
  const why = isRedirected ? ": redirects are not followed" : "";
  return {
    outcome: isDelivered ? "delivered" : "rejected",
    isGone: status === GONE,
    status,
    body: null,
    error: isDelivered ? null : `The endpoint answered ${status}${why}.`,
    leastWaitMs: OVERLOADED.includes(status) ? OVERLOADED_WAIT_MS : 0,
    retryAfterMs: 0,
  };
}

function readBody({ body, truncated }: GuardedReply): string | null {
  if (body.length === 0) return null;
  // With `stream` a character that is cut off at the end is left out.
  const text = cleanText(new TextDecoder().decode(body, { stream: truncated }));
  // Replacement characters are longer than the bytes they stand for.
  return Buffer.byteLength(text) <= RESPONSE_BYTES_MAX ? text : cutText(text);
}

function cutText(text: string): string {
  const bytes = Buffer.from(text).subarray(0, RESPONSE_BYTES_MAX);
  return new TextDecoder().decode(bytes, { stream: true });
}

export interface AttemptContext {
  startedAt: number;
  durationMs: number;
  now: number;
  url: string;
  /** Number of signatures that it was sent with. */
  signatures: number;
  updatedAt: number;
  fraction: number;
}

export function decideResult(
  delivery: ClaimedDelivery,
  response: EndpointResponse,
  { startedAt, durationMs, now, url, signatures, updatedAt, fraction }: AttemptContext,
): AttemptResult {
  const { isGone, leastWaitMs, retryAfterMs } = response;
  const attempt = {
    kind: delivery.kind,
    started_at: startedAt,
    duration_ms: durationMs,
    response_status: response.status,
    response_body: response.body,
    error: response.error,
    url,
    signatures,
  };
  const tried = { ...identify(delivery), attempt, url, updatedAt };
  if (response.outcome === "delivered") return { ...tried, kind: "delivered" };
  if (isGone) return { ...tried, kind: "gone", nextAttemptAt: now + GONE_WAIT_MS };
  const tries = delivery.tries + 1;
  const planned = planRetry({ tries, retryAfterMs, leastWaitMs, fraction });
  // A test is tried once: its owner wants to know now.
  if (planned.kind === "exhausted" || delivery.kind === "test") return { ...tried, kind: "failed" };
  return { ...tried, kind: "retry", nextAttemptAt: now + planned.waitMs };
}

export function skipAttempt(
  delivery: ClaimedDelivery,
  kind: "released" | "expired",
): AttemptResult {
  return { ...identify(delivery), kind };
}

function identify({ id, webhook_id, epoch }: ClaimedDelivery) {
  return { deliveryId: id, webhookId: webhook_id, epoch };
}
