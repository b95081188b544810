// What the caller of embeddings or search is told of a server that failed.
import type { UpstreamError } from "../../models/index.ts";
import { type ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";

/**
 * gateway.errors.service_unavailable: the server is out of reach, has enough to do or turns us
 * away, so that nothing was spent; the rest is as for chats.
 */
const TOLD: Partial<Record<UpstreamError["code"], ErrorCode>> = {
  model_offline: "service_unavailable",
  model_unavailable: "service_unavailable",
  upstream_rate_limited: "service_unavailable",
};

/** What the caller is told of a failure. */
export function nameShared(code: UpstreamError["code"]): ErrorCode {
  return TOLD[code] ?? code;
}

/** gateway.errors.p9 */
export const NO_RETRY: Readonly<Record<string, string>> = { "x-should-retry": "false" };

/** Headers of a refusal beside `Retry-After`. */
export type WriteHeaders = (
  told: ErrorCode,
  retry_after_ms: number | undefined,
) => Readonly<Record<string, string>>;

/** The refusal that a failure of `who`, such as "search engine", becomes. */
export function meteredError(
  { code, retryAfterMs: retry_after_ms }: UpstreamError,
  who: string,
  writeHeaders: WriteHeaders,
): ApiError {
  const told = nameShared(code);
  const headers = { ...writeHeaders(told, retry_after_ms) };
  if (told === "service_unavailable" && retry_after_ms !== undefined) {
    // gateway.errors.headers.retry_after
    headers["retry-after"] = String(Math.max(1, Math.ceil(retry_after_ms / 1000)));
  }
  return apiError(told, { headers, message: nameSentences(who)[told] });
}

/** Where the catalogue's are of models; the document says them too. */
export function nameSentences(who: string): Partial<Record<ErrorCode, string>> {
  return {
    upstream_error: `The ${who} failed or answered invalidly.`,
    upstream_timeout: `The ${who} did not answer in time.`,
    service_unavailable: `The ${who} cannot take the request now.`,
  };
}
