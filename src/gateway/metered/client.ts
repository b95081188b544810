// Requests one whole reply of a server within a time limit.
import {
  connectionError,
  fetchText,
  type TextRequest,
  timeoutError,
  type UpstreamError,
  upstreamError,
} from "../../models/index.ts";
import { readRetryAfter, type TrustedServer } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";

export interface ServerRequest extends TextRequest {
  timeout_ms: number;
  clock: Clock;
}

export interface ServerReply {
  ok: true;
  status: number;
  header(name: string): string | null;
  text: string;
  retry_after_ms: number | null;
}

/** Returns a reply of any status; no whole reply is a failure. */
export async function requestServer(
  server: TrustedServer,
  asking: ServerRequest,
): Promise<ServerReply | UpstreamError> {
  const { clock, timeout_ms, signal, ...request } = asking;
  const limit = abortAfter(clock, timeout_ms, signal);
  try {
    const reply = await fetchText(server, { ...request, signal: limit.signal });
    if (reply.status === null) {
      if (reply.failure !== "left") return explainBreak(reply.failure);
      return signal.aborted
        ? timeoutError("left")
        : { ...timeoutError("late"), noResponse: "perhaps" };
    }
    const { status, header, text } = reply;
    const retry_after_ms = readRetryAfter(header("retry-after"), clock);
    if (text !== null) return { ok: true, status, header, text, retry_after_ms };
    const reason = "its reply is too large, or packed in an unknown way";
    return upstreamError("upstream_error", reason, { retryable: true, upstreamStatus: status });
  } finally {
    limit.cancel();
  }
}

/** gateway.errors.service_unavailable: the request cannot have reached the server. */
function explainBreak(failure: Parameters<typeof connectionError>[0]): UpstreamError {
  const error: UpstreamError = { ...connectionError(failure), noResponse: "surely" };
  return error.isUnsent ? { ...error, code: "model_offline", retryable: true } : error;
}
