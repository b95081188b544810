// Classification of errors of embedding servers; their words are never passed on.
import { classifyError, type UpstreamError, upstreamError } from "../../../models/index.ts";
import type { ServerReply } from "../../metered/client.ts";

/** Words of llama.cpp for an input that exceeds one physical batch. */
const TOO_LARGE = /too large to process/i;
/** Words of TEI for too many texts in one request. */
const TOO_MANY = /maximum allowed batch size/i;

/** TEI and proxies refuse the length of an input by the status alone. */
export function isTooLong({ status, text }: ServerReply): boolean {
  if (TOO_LARGE.test(text) || TOO_MANY.test(text)) return false;
  return status === 413 || classifyError(status, text).code === "context_length_exceeded";
}

export function isBase64Refused({ status, text }: ServerReply): boolean {
  return (status === 400 || status === 422) && text.includes("encoding_format");
}

export function classifyEmbeddingError(reply: ServerReply): UpstreamError {
  const failure = classify(reply);
  const { retry_after_ms } = reply;
  return retry_after_ms === null ? failure : { ...failure, retryAfterMs: retry_after_ms };
}

function classify(reply: ServerReply): UpstreamError {
  const { status, text } = reply;
  const at = { retryable: true, upstreamStatus: status };
  if (status >= 400 && TOO_LARGE.test(text)) {
    return invalidEmbeddings("an input does not fit its batch: start it with a larger -ub", at);
  }
  if (status >= 400 && TOO_MANY.test(text)) {
    return invalidEmbeddings("it takes fewer texts at once: max_batch sets how many", at);
  }
  if (status === 503) {
    // gateway.errors.service_unavailable: the server loads its model, or its queue is full.
    const reason = "it is overloaded, or not ready yet";
    return upstreamError("upstream_rate_limited", reason, at);
  }
  // gateway.limits.embeddings_input: inputs were cut, so that the length is no caller's fault.
  if (isTooLong(reply)) {
    return invalidEmbeddings("its window is shorter than what is cut at", at);
  }
  return classifyError(status, text);
}

/** gateway.errors.upstream_error: an answer without valid vectors. */
export function invalidEmbeddings(
  reason: string,
  more: Partial<UpstreamError> = {},
): UpstreamError {
  return upstreamError("upstream_error", reason, { retryable: true, ...more });
}
