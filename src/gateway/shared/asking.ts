// Asks a server that is no chat's for one whole reply, within a time.
import { askWhole, explainBreak, explainCut, type Failure } from "../../models/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import type { TrustedServer } from "../../platform/egress/index.ts";
import { readRetryAfter } from "../../platform/retry-after.ts";

export interface Asking {
  /** Left out: a GET. */
  body?: string;
  /** Whose question it is. */
  account: string;
  headers: Readonly<Record<string, string>>;
  bytes_max: number;
  /** For the whole reply. */
  timeout_ms: number;
  clock: Clock;
  signal: AbortSignal;
}

export interface Heard {
  ok: true;
  status: number;
  header(name: string): string | null;
  text: string;
  /** When it may be asked again, as it says itself; null: it does not. */
  retry_after_ms: number | null;
}

/** Whatever status it has is heard; what comes to no reply at all is a failure. */
export async function askServer(server: TrustedServer, asking: Asking): Promise<Heard | Failure> {
  const { clock, timeout_ms, signal, ...request } = asking;
  const limit = abortAfter(clock, timeout_ms, signal);
  try {
    const reply = await askWhole(server, { ...request, signal: limit.signal });
    if (reply.status === null) {
      if (reply.failure !== "left") return explainSilence(reply.failure);
      return signal.aborted ? explainCut("left") : { ...explainCut("late"), silent: "perhaps" };
    }
    const { status, header, text } = reply;
    const retry_after_ms = readRetryAfter(header("retry-after"), clock);
    if (text !== null) return { ok: true, status, header, text, retry_after_ms };
    const why = "its reply is too large, or packed in an unknown way";
    return { ok: false, code: "upstream_error", elsewhere: true, why, upstream_status: status };
  } finally {
    limit.cancel();
  }
}

type Break = Parameters<typeof explainBreak>[0];

/** gateway.errors.service_unavailable: nothing of the request can have reached it. */
const UNREACHABLE: readonly Break[] = ["refused", "dns", "tls", "timeout"];

function explainSilence(failure: Break): Failure {
  const why: Failure = { ...explainBreak(failure), silent: "surely" };
  return UNREACHABLE.includes(failure) ? { ...why, code: "model_offline", elsewhere: true } : why;
}
