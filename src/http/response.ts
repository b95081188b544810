// Turns the outcome of a request into a response, on both surfaces.

import { DatabaseUnavailable } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { ApiError, apiError, publicCode, type Surface } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { readTrace, type Trace, traceIdOf } from "../platform/trace.ts";
import { idHeaders, statusOf } from "./dialects.ts";
import { respondError, sendError, writeEnvelope } from "./envelope.ts";
import { chooseRequestId } from "./request-id.ts";
import type { HandlerReply, RequestRecorder, Route, RouteSpec, SentAs } from "./route.ts";

/** `Retry-After` for a full disk or a lost database server. */
const RETRY_AFTER_S = 2;

export interface RequestContext {
  request: Request;
  request_id: string;
  trace: Trace | null;
  started_at: number;
  /** Set once the caller of a metered request is known. */
  recorder: RequestRecorder | undefined;
  sentAs?: SentAs;
}

export interface ResponderOptions {
  surface: Surface;
  clock: Clock;
  ids: Ids;
  log: Log;
  observer: RequestObserver | null;
}

type RouteName = Pick<Route, "method" | "path"> &
  Pick<RouteSpec, "dialect" | "isOpen" | "challenge">;

/** Told of replies by their route and status, and of refusals by their code. */
export interface RequestObserver {
  onReply(route: RouteName, status: number, duration_ms: number): void;
  onRefusal(code: string): void;
}

/** Responds with the handler's reply or the ApiError it throws; other errors become 500. */
export function createResponder(
  options: ResponderOptions,
  route: RouteName,
  handle: (context: RequestContext) => Promise<HandlerReply>,
): Route["answer"] {
  const { surface, clock, ids, observer } = options;
  const answer: Route["answer"] = async (request, sentAs) => {
    const request_id = chooseRequestId(request, ids);
    // gateway.errors.not_found: HEAD and OPTIONS are wrong methods like any other.
    if (request.method !== route.method || route.isOpen?.() === false)
      return respondError(apiError("not_found"), surface, request_id);
    const trace = readTrace(request.headers);
    const started_at = clock.monotonic();
    const context: RequestContext = { request, request_id, trace, started_at, recorder: undefined };
    if (sentAs) context.sentAs = sentAs;
    try {
      const reply = await handle(context);
      return reply instanceof Response ? reply : writeReply(reply, context, route);
    } catch (failure) {
      const refusal = answerFailure(options, route, context, failure);
      const challenge = refusal.status === 401 && route.challenge?.(request);
      if (challenge) refusal.headers.set("www-authenticate", challenge);
      return refusal;
    }
  };
  if (!observer) return answer;
  return async (request, sentAs) => {
    const startedAt = clock.monotonic();
    const response = await answer(request, sentAs);
    observer.onReply(route, response.status, clock.monotonic() - startedAt);
    return response;
  };
}

/** gateway.endpoints.p2 */
function writeReply(
  [status, value, headers]: Exclude<HandlerReply, Response>,
  { request_id, recorder }: RequestContext,
  { dialect }: RouteName,
): Response {
  const ids = idHeaders(request_id, dialect);
  if (status === 204) {
    recorder?.close(status, null, 0);
    return new Response(null, { status, headers: { ...headers, ...ids } });
  }
  const text = JSON.stringify(value);
  recorder?.close(status, null, Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { ...headers, "content-type": "application/json", ...ids },
  });
}

function answerFailure(
  { surface, log, observer }: ResponderOptions,
  { method, path, dialect }: RouteName,
  { request_id, trace, recorder }: RequestContext,
  failure: unknown,
): Response {
  const refusal = toApiError(failure);
  const code = publicCode(refusal.code, surface) ?? refusal.code;
  observer?.onRefusal(code);
  if (refusal.status === 500) {
    // gateway.errors.internal_error, agents.errors.internal_error
    const fields = { request_id, trace_id: traceIdOf(trace), route: `${method} ${path}` };
    const error = failure instanceof ApiError ? failure.cause : failure;
    log.error("http: a request failed", { ...fields, error });
  }
  const text = writeEnvelope(refusal, surface, request_id, dialect);
  // A caller who left receives nothing.
  const bytes = refusal.code === "client_closed_request" ? 0 : Buffer.byteLength(text);
  recorder?.explain(refusal);
  recorder?.close(statusOf(refusal, dialect), code, bytes);
  return sendError(refusal, text, request_id, dialect);
}

/** A failing disk or database server is no bug: the same request may succeed later. */
export function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  if (!(failure instanceof DatabaseUnavailable)) return new ApiError("internal_error", {}, failure);
  return apiError("service_unavailable", {
    message: "The service cannot store or read its data at the moment: send the request again.",
    headers: { "retry-after": String(RETRY_AFTER_S) },
  });
}

/** gateway.errors.client_closed_request: logs a caller who left before the body was whole. */
export async function logDisconnect<T>(
  { log }: Pick<ResponderOptions, "log">,
  { method, path }: RouteName,
  { request_id, trace }: RequestContext,
  reading: Promise<T>,
): Promise<T> {
  try {
    return await reading;
  } catch (failure) {
    if (failure instanceof ApiError && failure.code === "client_closed_request") {
      const { code, status } = failure;
      const trace_id = traceIdOf(trace);
      const fields = { request_id, trace_id, route: `${method} ${path}`, code, status };
      log.info("http: the caller left before its body was whole", fields);
    }
    throw failure;
  }
}
