// The only writer of error JSON, in the envelope of each surface.
import {
  type ApiError,
  type ErrorCode,
  publicCode,
  type Surface,
  typeOf,
} from "../platform/errors.ts";
import { type ApiDialect, DIALECTS, idHeaders, statusOf } from "./dialects.ts";

/** Names of the agent service's first segments below /v1; all other paths are the gateway's. */
const AGENT_SEGMENTS = new Set([
  "agents",
  "runs",
  "evaluations",
  "threads",
  "approvals",
  "tools",
  "mcp",
  "triggers",
  "hooks",
  "webhooks",
]);

export function surfaceOfPath(path: string): Surface {
  if (path.startsWith("/operator/") || path.startsWith("/console/")) return "operator";
  if (path === "/mcp") return "agents";
  const [, version, segment = ""] = path.split(/[?#]/, 1)[0]!.split("/", 3);
  return version === "v1" && AGENT_SEGMENTS.has(segment) ? "agents" : "gateway";
}

interface ErrorBody {
  message: string;
  type: string;
  code?: string;
  param?: string | null;
}

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
  // gateway.authentication.4: `param` is absent if the route itself needs the scope.
  const isRouteScope = surface === "gateway" && code === "scope_required" && param === undefined;
  if (!isRouteScope) error.param = param ?? null;
  return error;
}

/** gateway.errors.p1, gateway.errors.p5, agents.errors.p1: answers with an error. */
export function respondError(
  refusal: ApiError,
  surface: Surface,
  request_id: string,
  dialect?: ApiDialect,
): Response {
  const text = writeEnvelope(refusal, surface, request_id, dialect);
  return sendError(refusal, text, request_id, dialect);
}

export function writeEnvelope(
  refusal: ApiError,
  surface: Surface,
  request_id: string,
  dialect?: ApiDialect,
): string {
  if (dialect) return DIALECTS[dialect].writeError(refusal, request_id);
  const { code, message, details, status } = refusal;
  const error = describeError(code, surface, status, message, details.param);
  // gateway.resources.envelope.p1, gateway.versioning.2: legacy fields stand beside `error`.
  const body =
    surface === "gateway"
      ? { error, request_id, statusCode: status, message: [message], code: error.code }
      : { error };
  return JSON.stringify(body);
}

export function sendError(
  refusal: ApiError,
  body: string,
  request_id: string,
  dialect?: ApiDialect,
): Response {
  return new Response(body, {
    status: statusOf(refusal, dialect),
    headers: {
      ...refusal.details.headers,
      "content-type": "application/json",
      ...idHeaders(request_id, dialect),
    },
  });
}

/** gateway.events.4: writes the frame of a failure in a stream, without legacy fields. */
export function writeErrorFrame(
  code: ErrorCode,
  message: string,
  request_id: string,
  param?: string,
) {
  // gateway.errors.p6: `server_error`, unless the caller is at fault.
  const status = code === "context_length_exceeded" ? 400 : 502;
  const error = describeError(code, "gateway", status, message, param);
  return JSON.stringify({ error, request_id });
}
