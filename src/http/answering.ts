// What every door does alike: a request gets its id and its answer, and somebody hears of it.
import type { Clock } from "../platform/clock.ts";
import { DatabaseUnavailable } from "../platform/database/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Half, Refusal, refuse, shownCode } from "../platform/refusal.ts";
import { readTrace, type Trace, traceIdOf } from "../platform/trace.ts";
import { answerRefusal, sendRefusal, writeEnvelope } from "./envelope.ts";
import type { Tally } from "./meter.ts";
import { chooseRequestId } from "./request-id.ts";
import type { Reply, Route } from "./route.ts";

/** A disk that is full or a database server that is away may be back soon. */
const RETRY_AFTER_S = 2;

/** One request on its way through the door. */
export interface Visit {
  request: Request;
  request_id: string;
  trace: Trace | null;
  started_at: number;
  /** undefined: it does not count, or not yet. */
  tally: Tally | undefined;
}

export interface AnsweringOptions {
  half: Half;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Told of every reply's head; null: nobody counts. */
  observe: Observe | null;
}

type RouteName = Pick<Route, "verb" | "path">;
export type Observe = (route: RouteName, status: number, duration_ms: number) => void;

/** Answers what `judge` says, or the refusal that it throws; anything else it throws is 500. */
export function createAnswer(
  options: AnsweringOptions,
  route: RouteName,
  judge: (visit: Visit) => Promise<Reply>,
): Route["answer"] {
  const { half, clock, ids } = options;
  const answer: Route["answer"] = async (request) => {
    const request_id = chooseRequestId(request, ids);
    // gateway.errors.not_found: HEAD and OPTIONS are wrong methods like any other.
    if (request.method !== route.verb) return answerRefusal(refuse("not_found"), half, request_id);
    const trace = readTrace(request.headers);
    const started_at = clock.monotonic();
    const visit: Visit = { request, request_id, trace, started_at, tally: undefined };
    try {
      const reply = await judge(visit);
      return reply instanceof Response ? reply : writeReply(reply, visit);
    } catch (failure) {
      return answerFailure(options, route, visit, failure);
    }
  };
  return tellReplies(options, route, answer);
}

/** The same answers, of each of which somebody is told. */
function tellReplies(
  { observe, clock }: AnsweringOptions,
  route: RouteName,
  answer: Route["answer"],
): Route["answer"] {
  if (!observe) return answer;
  return async (request) => {
    const asked_at = clock.monotonic();
    const response = await answer(request);
    observe(route, response.status, clock.monotonic() - asked_at);
    return response;
  };
}

/** gateway.endpoints.p2 */
function writeReply(
  [status, value, headers]: Exclude<Reply, Response>,
  { request_id, tally }: Visit,
): Response {
  if (status === 204) {
    tally?.close(status, null, 0);
    return new Response(null, { status, headers: { ...headers, "x-request-id": request_id } });
  }
  const text = JSON.stringify(value);
  tally?.close(status, null, Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json", "x-request-id": request_id },
  });
}

function answerFailure(
  { half, log }: AnsweringOptions,
  { verb, path }: RouteName,
  { request_id, trace, tally }: Visit,
  failure: unknown,
): Response {
  const refusal = chooseRefusal(failure);
  if (refusal.status === 500) {
    // gateway.errors.internal_error, agents.errors.internal_error
    const fields = { request_id, trace_id: traceIdOf(trace), route: `${verb} ${path}` };
    const error = failure instanceof Refusal ? failure.cause : failure;
    log.error("a request failed", { ...fields, error });
  }
  const text = writeEnvelope(refusal, half, request_id);
  // Who has left gets nothing of it.
  const bytes = refusal.code === "client_closed_request" ? 0 : Buffer.byteLength(text);
  tally?.close(refusal.status, shownCode(refusal.code, half) ?? refusal.code, bytes);
  return sendRefusal(refusal, text, request_id);
}

/** What the disk or the database server fails at is no bug: the same request may succeed later. */
function chooseRefusal(failure: unknown): Refusal {
  if (failure instanceof Refusal) return failure;
  if (!(failure instanceof DatabaseUnavailable)) return refuse("internal_error");
  return refuse("service_unavailable", {
    message: "The service cannot store or read its data at the moment: send the request again.",
    headers: { "retry-after": String(RETRY_AFTER_S) },
  });
}

/**
 * gateway.errors.client_closed_request: who leaves before its body is whole is written down, with a
 * status that nobody receives.
 */
export async function noteLeaving<T>(
  { log }: Pick<AnsweringOptions, "log">,
  { verb, path }: RouteName,
  { request_id, trace }: Visit,
  reading: Promise<T>,
): Promise<T> {
  try {
    return await reading;
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === "client_closed_request") {
      const { code, status } = failure;
      const trace_id = traceIdOf(trace);
      const fields = { request_id, trace_id, route: `${verb} ${path}`, code, status };
      log.info("the caller left before its body was whole", fields);
    }
    throw failure;
  }
}
