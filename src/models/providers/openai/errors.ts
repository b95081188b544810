// Classifies failures of model servers; their own words are read, never passed on.
import type { FetchFailure } from "../../../net/index.ts";
import type { UpstreamCode, UpstreamError } from "../contract.ts";

/**
 * `left`: the caller went away · `deaf`: the caller stopped reading · `late`: the reply did not
 * begin in time · `stalled`: it began, and then nothing came.
 */
export type TimeoutReason = "left" | "deaf" | "late" | "stalled";

/** Words of vLLM, SGLang, llama.cpp, TGI and others for a prompt that is too long. */
const TOO_LONG = new RegExp(
  [
    "context length",
    "context size",
    "context window",
    "maximum model length",
    "exceed_context_size",
    "context_length_exceeded",
    "too many tokens",
    "(?:input|prompt) is too long",
    "`inputs`.{0,64} must (?:have less than|be <=)",
  ].join("|"),
  "i",
);
/** Words of SGLang, Ollama and others for overload. */
const TOO_BUSY = /queue is full|pending requests|overloaded/i;
const RETRYABLE = { retryable: true };
const UNSENT = { ...RETRYABLE, isUnsent: true } as const;

/** Classifies an error by its status and words; errors inside a stream may have no status. */
export function classifyError(status: number | null, text: string): UpstreamError {
  const upstreamStatus = status ?? undefined;
  const passing = { retryable: true, upstreamStatus };
  // TGI reports its own crashes as 424.
  const isRequestRefused = status !== null && status >= 400 && status < 500 && status !== 424;
  if ((isRequestRefused || status === null) && TOO_LONG.test(text)) {
    const reason = "the request is too long for it";
    return upstreamError("context_length_exceeded", reason, { upstreamStatus });
  }
  // gateway.errors.upstream_rate_limited
  if (status === 429 || ((status === 503 || status === null) && TOO_BUSY.test(text))) {
    return upstreamError("upstream_rate_limited", "it is overloaded", passing);
  }
  if (status === 401 || status === 403 || status === 404) {
    // gateway.errors.model_unavailable: the settings name a wrong key, address or model.
    const reason =
      status === 404
        ? "it does not know the model, or the path: see whether its address needs /v1"
        : "it refuses our key, or the model with it";
    return upstreamError("model_unavailable", reason, passing);
  }
  if (status === 504 || status === 408) {
    return upstreamError("upstream_timeout", "it timed out", passing);
  }
  const reason = status === null ? "it sent an error" : `it answered with status ${status}`;
  return upstreamError("upstream_error", reason, { retryable: !isRequestRefused, upstreamStatus });
}

export function timeoutError(reason: TimeoutReason): UpstreamError {
  switch (reason) {
    case "left":
      return upstreamError("client_closed_request", "the caller left");
    case "deaf":
      return upstreamError("client_closed_request", "the caller stopped reading");
    case "late":
      // gateway.errors.upstream_timeout: the caller's time is used up, so a retry is useless.
      return upstreamError("upstream_timeout", "no answer in time");
    case "stalled":
      // gateway.errors.upstream_error: a stalled stream is a failure, not a time-out.
      return upstreamError("upstream_error", "its stream stalled", RETRYABLE);
  }
}

export function connectionError(failure: FetchFailure): UpstreamError {
  switch (failure) {
    case "refused":
      return upstreamError("upstream_error", "the connection was refused", UNSENT);
    case "dns":
      return upstreamError("upstream_error", "its name has no address", UNSENT);
    case "tls":
      return upstreamError("upstream_error", "its certificate is not valid", UNSENT);
    case "timeout":
      return upstreamError("upstream_timeout", "it could not be reached in time", UNSENT);
    case "reset":
      return upstreamError("upstream_error", "the connection broke", RETRYABLE);
    default:
      return invalidReplyError("the reply could not be read");
  }
}

/** gateway.errors.upstream_error: the reply has a wrong form. */
export function invalidReplyError(reason: string): UpstreamError {
  return upstreamError("upstream_error", reason, RETRYABLE);
}

/** An error that another replica could not avoid, unless `more` says so. */
export function upstreamError(
  code: UpstreamCode,
  reason: string,
  more: Partial<UpstreamError> = {},
): UpstreamError {
  return { ok: false, code, retryable: false, reason, ...more };
}
