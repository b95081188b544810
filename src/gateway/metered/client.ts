// Asks a server that is no chat's for one whole reply, within a time.
import {
  connectionError,
  fetchText,
  timeoutError,
  type UpstreamError,
} from "../../models/index.ts";
import { readRetryAfter, type TrustedServer } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";

export interface ServerRequest {
  /** Left out: a GET. */
  body?: string;
  /** Whose question it is. */
  account: string;
  headers: Readonly<Record<string, string>>;
  bytesMax: number;
  /** For the whole reply. */
  timeout_ms: number;
  clock: Clock;
  signal: AbortSignal;
}

export interface ServerReply {
  ok: true;
  status: number;
  header(name: string): string | null;
  text: string;
  /** When it may be asked again, as it says itself; null: it does not. */
  retry_after_ms: number | null;
}

/** Whatever status it has is heard; what comes to no reply at all is a failure. */
export async function requestServer(
  server: TrustedServer,
  asking: ServerRequest,
): Promise<ServerReply | UpstreamError> {
  const { clock, timeout_ms, signal, ...request } = asking;
  const limit = abortAfter(clock, timeout_ms, signal);
  try {
    const reply = await fetchText(server, { ...request, signal: limit.signal });
    if (reply.status === null) {
      if (reply.failure !== "left") return explainSilence(reply.failure);
      return signal.aborted
        ? timeoutError("left")
        : { ...timeoutError("late"), noResponse: "perhaps" };
    }
    const { status, header, text } = reply;
    const retry_after_ms = readRetryAfter(header("retry-after"), clock);
    if (text !== null) return { ok: true, status, header, text, retry_after_ms };
    const why = "its reply is too large, or packed in an unknown way";
    return {
      ok: false,
      code: "upstream_error",
      retryable: true,
      reason: why,
      upstreamStatus: status,
    };
  } finally {
    limit.cancel();
  }
}

type ConnectionBreak = Parameters<typeof connectionError>[0];

/** gateway.errors.service_unavailable: nothing of the request can have reached it. */
const UNREACHABLE: readonly ConnectionBreak[] = ["refused", "dns", "tls", "timeout"];

function explainSilence(failure: ConnectionBreak): UpstreamError {
  const why: UpstreamError = { ...connectionError(failure), noResponse: "surely" };
  return UNREACHABLE.includes(failure) ? { ...why, code: "model_offline", retryable: true } : why;
}
