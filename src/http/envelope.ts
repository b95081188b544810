// The only writer of error JSON: a refusal in the envelope of its half.
import {
  type ApiError,
  type ErrorCode,
  publicCode,
  type Surface,
  typeOf,
} from "../platform/errors.ts";

/** First segments below /v1 that belong to the agent service; every other path is the gateway's. */
const AGENT_SEGMENTS = new Set([
  "agents",
  "runs",
  "threads",
  "approvals",
  "tools",
  "triggers",
  "hooks",
  "webhooks",
]);

/** The half whose envelope answers a path, known or not. */
export function surfaceOfPath(path: string): Surface {
  const [, version, segment = ""] = path.split(/[?#]/, 1)[0]!.split("/", 3);
  return version === "v1" && AGENT_SEGMENTS.has(segment) ? "agents" : "gateway";
}

interface ErrorBody {
  message: string;
  type: string;
  code?: string;
  param?: string | null;
}

/** The `error` object of a refusal; `status` decides its type. */
function describeError(
  code: ErrorCode,
  surface: Surface,
  status: number,
  message: string,
  param?: string,
) {
  const error: ErrorBody = { message, type: typeOf(status) };
  const shown = publicCode(code, surface);
  if (shown !== null) error.code = shown;
  // gateway.authentication.4: `param` is absent when the route itself needs the scope.
  const isRouteScope = surface === "gateway" && code === "scope_required" && param === undefined;
  if (!isRouteScope) error.param = param ?? null;
  return error;
}

/** gateway.errors.p1, gateway.errors.p5, agents.errors.p1: a reply, in its half's envelope. */
export function respondError(refusal: ApiError, surface: Surface, request_id: string): Response {
  return sendError(refusal, writeEnvelope(refusal, surface, request_id), request_id);
}

/** The body of a refusal's reply. */
export function writeEnvelope(refusal: ApiError, surface: Surface, request_id: string): string {
  const { code, message, details: say, status } = refusal;
  const error = describeError(code, surface, status, message, say.param);
  // gateway.resources.envelope.p1, gateway.versioning.2: the legacy fields stand beside `error`.
  const body =
    surface === "gateway"
      ? { error, request_id, statusCode: status, message: [message], code: error.code }
      : { error };
  return JSON.stringify(body);
}

export function sendError(
  { details: say, status }: ApiError,
  body: string,
  request_id: string,
): Response {
  return new Response(body, {
    status,
    headers: {
      ...say.headers,
      "content-type": "application/json",
      "x-request-id": request_id,
    },
  });
}

/** gateway.events.4: the frame of a failure inside a stream, without the legacy fields. */
export function writeErrorFrame(
  code: ErrorCode,
  message: string,
  request_id: string,
  param?: string,
) {
  // gateway.errors.p6: `server_error`, unless it is the caller's part.
  const status = code === "context_length_exceeded" ? 400 : 502;
  const error = describeError(code, "gateway", status, message, param);
  return JSON.stringify({ error, request_id });
}
