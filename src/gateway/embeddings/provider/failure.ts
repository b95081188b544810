// What a refusal by a server of embeddings means; its words are read and never passed on.
import { classifyError, type UpstreamError } from "../../../models/index.ts";
import type { ServerReply } from "../../metered/client.ts";

/** llama.cpp reads an input in one physical batch, whatever its window is. */
const TOO_LARGE = /too large to process/i;
/** TEI, of the texts in one request. */
const TOO_MANY = /maximum allowed batch size/i;

/** By these a server says that it has no such route. */
const ABSENT: readonly number[] = [404, 405, 501];

export function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

export function isRouteAbsent(status: number): boolean {
  return ABSENT.includes(status);
}

/** Is it the length of an input that it refuses? TEI and proxies say so by the status alone. */
export function isTooLong({ status, text }: ServerReply): boolean {
  if (TOO_LARGE.test(text) || TOO_MANY.test(text)) return false;
  return status === 413 || classifyError(status, text).code === "context_length_exceeded";
}

export function isBase64Refused({ status, text }: ServerReply): boolean {
  return (status === 400 || status === 422) && text.includes("encoding_format");
}

export function classifyEmbeddingError(heard: ServerReply): UpstreamError {
  const failure = judge(heard);
  const { retry_after_ms } = heard;
  return retry_after_ms === null ? failure : { ...failure, retryAfterMs: retry_after_ms };
}

function judge(heard: ServerReply): UpstreamError {
  const { status, text } = heard;
  const at = { retryable: true, upstreamStatus: status };
  if (status >= 400 && TOO_LARGE.test(text)) {
    return {
      ...invalidEmbeddings("an input does not fit its batch: start it with a larger -ub"),
      ...at,
    };
  }
  if (status >= 400 && TOO_MANY.test(text)) {
    return { ...invalidEmbeddings("it takes fewer texts at once: max_batch sets how many"), ...at };
  }
  if (status === 503) {
    // gateway.errors.service_unavailable: it loads its model, or its line is full.
    const why = "it is overloaded, or not ready yet";
    return { ok: false, code: "upstream_rate_limited", reason: why, ...at };
  }
  // gateway.limits.embeddings_input: what is left was cut; nobody is told that it is too long.
  if (isTooLong(heard)) {
    return { ...invalidEmbeddings("its window is shorter than what is cut at"), ...at };
  }
  return classifyError(status, text);
}

/** gateway.errors.upstream_error: it answered, but not with what it was asked for. */
export function invalidEmbeddings(why: string): UpstreamError {
  return { ok: false, code: "upstream_error", retryable: true, reason: why };
}
