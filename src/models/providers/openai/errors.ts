// What an upstream's failure means to the caller; its own words are read, never passed on.
import type { FetchFailure } from "../../../net/index.ts";
import type { UpstreamCode, UpstreamError } from "../contract.ts";
import type { TimeoutReason } from "../timeouts.ts";

/** The words with which vLLM, SGLang, llama.cpp, TGI and others refuse a prompt for its length. */
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
/** The words with which SGLang, Ollama and others say that they have enough to do. */
const TOO_BUSY = /queue is full|pending requests|overloaded/i;

/** Judges an error by its status and words; null: inside a stream it may tell no status. */
export function classifyError(status: number | null, text: string): UpstreamError {
  const upstream_status = status ?? undefined;
  // TGI tells a crash of its own as 424.
  const isRequestRefused = status !== null && status >= 400 && status < 500 && status !== 424;
  if ((isRequestRefused || status === null) && TOO_LONG.test(text)) {
    const why = "the request is too long for it";
    return fail("context_length_exceeded", false, why, upstream_status);
  }
  // gateway.errors.upstream_rate_limited
  if (status === 429 || ((status === 503 || status === null) && TOO_BUSY.test(text))) {
    return fail("upstream_rate_limited", true, "it is overloaded", upstream_status);
  }
  if (status === 401 || status === 403 || status === 404) {
    // gateway.errors.model_unavailable: the settings name a wrong key, address or model.
    const why =
      status === 404
        ? "it does not know the model, or the path: see whether its address needs /v1"
        : "it refuses our key, or the model with it";
    return fail("model_unavailable", true, why, upstream_status);
  }
  if (status === 504 || status === 408) {
    return fail("upstream_timeout", true, "it timed out", upstream_status);
  }
  const why = status === null ? "it sent an error" : `it answered with status ${status}`;
  return fail("upstream_error", !isRequestRefused, why, upstream_status);
}

/** Says why we gave a request up. */
export function timeoutError(cut: TimeoutReason): UpstreamError {
  switch (cut) {
    case "left":
      return fail("client_closed_request", false, "the caller left");
    case "deaf":
      return fail("client_closed_request", false, "the caller stopped reading");
    case "late":
      // gateway.errors.upstream_timeout
      // Not elsewhere: the caller's time is used up.
      return fail("upstream_timeout", false, "no answer in time");
    case "stalled":
      // gateway.errors.upstream_error: a stalled stream is a failure, not a time-out.
      return fail("upstream_error", true, "its stream stalled");
  }
}

/** Says why a request or its reply broke off by itself. */
export function connectionError(failure: FetchFailure): UpstreamError {
  switch (failure) {
    case "refused":
      return fail("upstream_error", true, "the connection was refused");
    case "dns":
      return fail("upstream_error", true, "its name has no address");
    case "tls":
      return fail("upstream_error", true, "its certificate is not valid");
    case "timeout":
      return fail("upstream_timeout", true, "it could not be reached in time");
    case "reset":
      return fail("upstream_error", true, "the connection broke");
    default:
      return invalidReplyError("the reply could not be read");
  }
}

/** gateway.errors.upstream_error: it answered, but not in the form that it should. */
export function invalidReplyError(why: string): UpstreamError {
  return fail("upstream_error", true, why);
}

function fail(
  code: UpstreamCode,
  elsewhere: boolean,
  why: string,
  upstream_status?: number,
): UpstreamError {
  return { ok: false, code, retryable: elsewhere, reason: why, upstreamStatus: upstream_status };
}
