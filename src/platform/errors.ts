// The catalogue of all error codes of both specs, and the error that carries one to the caller.

interface ErrorDefinition {
  status: number;
  unavailableStatus?: number;
  message: string;
  gateway?: string;
  /** The agent service's public code, if it differs; null omits `code`. */
  agents?: string | null;
}

/** gateway.errors.p3, agents.errors.p3, agents.versioning.2: entries are added, never renamed. */
export const ERROR_CODES = {
  validation: {
    status: 400,
    gateway: "invalid_request",
    agents: null,
    message: "The request is not valid.",
  },
  invalid_request: { status: 400, message: "The request is not valid." },
  missing_api_key: {
    status: 401,
    agents: null,
    message: "No API key was sent; send it as `Authorization: Bearer <API_KEY>`.",
  },
  invalid_api_key: {
    status: 401,
    agents: null,
    message: "The API key is unknown, revoked or expired.",
  },
  permission_denied: { status: 403, message: "This key may not do this." },
  scope_required: { status: 403, message: "The key lacks a scope that this request needs." },
  not_found: { status: 404, message: "There is no such path or method." },
  request_too_large: { status: 413, agents: null, message: "The body is too large." },
  rate_limit_exceeded: {
    status: 429,
    agents: null,
    message: "Too many requests: the rate limit is reached; wait as long as Retry-After says.",
  },
  internal_error: { status: 500, agents: null, message: "Something went wrong on our side." },

  model_not_permitted: { status: 403, message: "The key may not call this model." },
  model_not_found: { status: 404, message: "There is no such model for this key." },
  no_model_available: { status: 503, message: "The default model is not available now." },

  context_length_exceeded: { status: 400, message: "The request exceeds the context window." },
  upstream_rate_limited: {
    status: 429,
    message: "The model server is busy and asked for slower requests.",
  },
  capacity_exceeded: { status: 429, message: "The shared capacity is busy; try again shortly." },
  client_closed_request: { status: 499, message: "The caller went away." },
  upstream_error: { status: 502, message: "The model server failed or answered invalidly." },
  model_unavailable: { status: 503, message: "The model cannot be served now." },
  model_offline: { status: 503, message: "The model is stopped." },
  service_unavailable: { status: 503, message: "The service cannot take the request now." },
  upstream_timeout: { status: 504, message: "The model server did not answer in time." },

  url_refused: { status: 400, message: "The URL must be https, on port 443, at a public name." },
  invalid_signature: { status: 401, message: "The signature could not be verified." },
  agent_held: {
    status: 403,
    unavailableStatus: 503,
    message: "The operator holds this agent or account.",
  },
  not_enabled: { status: 403, unavailableStatus: 503, message: "This feature is switched off." },
  agent_not_found: { status: 404, message: "There is no such agent." },
  agent_version_not_found: { status: 404, message: "The agent has no version to run." },
  approval_not_found: { status: 404, message: "There is no such approval." },
  connection_not_found: { status: 404, message: "There is no such connection." },
  delivery_not_found: { status: 404, message: "There is no such delivery." },
  evaluation_not_found: { status: 404, message: "There is no such evaluation." },
  mcp_server_not_found: { status: 404, message: "There is no such MCP server." },
  round_not_found: { status: 404, message: "The run has no reply of such a round." },
  run_not_found: { status: 404, message: "There is no such run." },
  thread_not_found: { status: 404, message: "There is no such thread." },
  tool_not_found: { status: 404, message: "There is no such tool." },
  trigger_not_found: { status: 404, message: "There is no such trigger." },
  webhook_not_found: { status: 404, message: "There is no such webhook endpoint." },
  conflict: { status: 409, message: "The object's state does not allow it." },
  agent_limit_reached: { status: 409, message: "There are too many agents." },
  agent_archived: { status: 409, message: "The agent is archived." },
  approval_closed: { status: 409, message: "The approval is closed: its run has ended." },
  approval_decided: { status: 409, message: "The approval was already decided the other way." },
  approval_expired: { status: 409, message: "The approval has expired." },
  connection_in_use: { status: 409, message: "An enabled tool uses the connection." },
  connection_limit_reached: { status: 409, message: "There are too many connections." },
  connection_name_taken: { status: 409, message: "A connection of this name exists." },
  endpoint_disabled: { status: 409, message: "The endpoint is disabled; enable it first." },
  event_expired: { status: 409, message: "The event is no longer kept." },
  idempotency_conflict: {
    status: 409,
    message: "This Idempotency-Key was used with another body.",
  },
  mcp_server_exists: { status: 409, message: "An MCP server of this name exists." },
  mcp_server_limit_reached: { status: 409, message: "There are too many MCP servers." },
  run_not_finished: { status: 409, message: "The run has not ended yet." },
  name_taken: { status: 409, message: "A trigger of this name exists." },
  slug_taken: { status: 409, message: "An agent of this slug exists." },
  storage_limit_reached: { status: 409, message: "The account may store no more." },
  thread_agent_mismatch: { status: 409, message: "The thread belongs to another agent." },
  thread_busy: { status: 409, message: "The thread already has a run in progress." },
  tool_changed: {
    status: 409,
    message: "The tool has changed on its server: accept the change first.",
  },
  tool_exists: { status: 409, message: "A tool of this name exists; add a revision." },
  tool_limit_reached: { status: 409, message: "There are too many tools." },
  trigger_paused: { status: 409, message: "The trigger is paused." },
  version_conflict: { status: 409, message: "The agent has another current version by now." },
  version_limit_reached: { status: 409, message: "The agent has too many versions." },
  hook_failed: {
    status: 500,
    gateway: "internal_error",
    agents: "internal_error",
    message: "The hook could not be processed: send it again with the same webhook-id.",
  },
  unsupported_media_type: { status: 415, message: "The body must be application/json." },
  active_runs_limit: { status: 429, message: "Too many runs are queued or running." },
  admission_busy: { status: 429, message: "Too many starts at once; try again shortly." },
  daily_runs_limit: { status: 429, message: "Too many runs were started in the last 24 hours." },
  deliveries_limit: { status: 429, message: "Too many deliveries are waiting to be sent." },
  evaluations_limit: { status: 429, message: "Too many evaluations are under way." },
  endpoints_limit: { status: 429, message: "There are too many endpoints." },
  rate_limited: { status: 429, message: "Too many requests for this trigger." },
  too_many_streams: { status: 429, message: "The key has too many streams open." },
  triggers_limit: { status: 429, message: "There are too many triggers." },
  connections_unavailable: { status: 503, message: "Secrets cannot be stored now." },
  triggers_unavailable: { status: 503, message: "Trigger secrets cannot be stored now." },
  webhooks_unavailable: { status: 503, message: "Endpoint secrets cannot be stored now." },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERROR_CODES;
export type PublicSurface = "gateway" | "agents";
export type Surface = PublicSurface | "operator";

export interface ErrorDetails {
  param?: string;
  message?: string;
  /**
   * The request log's sentence in place of `message`. It tells operators more, and quotes nothing
   * that the caller sent.
   */
  recorded?: string;
  headers?: Record<string, string>;
  isUnavailable?: true;
}

/** The service refuses, as the spec foresees; `cause` is the bug behind a 500. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    super(details.message ?? ERROR_CODES[code].message, { cause });
    this.code = code;
    this.details = details;
  }

  get status(): number {
    const entry: ErrorDefinition = ERROR_CODES[this.code];
    return this.details.isUnavailable && entry.unavailableStatus
      ? entry.unavailableStatus
      : entry.status;
  }
}

export function apiError(code: ErrorCode, details?: ErrorDetails): ApiError {
  return new ApiError(code, details);
}

export function publicCode(code: ErrorCode, surface: Surface): string | null {
  const entry: ErrorDefinition = ERROR_CODES[code];
  const shown = surface === "agents" ? entry.agents : entry.gateway;
  return shown === undefined ? code : shown;
}

export function typeOf(status: number): string {
  switch (status) {
    case 400:
    case 413:
    case 415:
      return "invalid_request_error";
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 409:
      return "conflict_error";
    case 429:
      return "rate_limit_error";
    default:
      return "server_error";
  }
}
