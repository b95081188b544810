// Replies in flight: a stop or a revocation ends them with an error instead of silence.
import { type CompletionStats, type UpstreamError, upstreamError } from "../models/index.ts";

/**
 * The result of an answer that a stop ends. Streams can carry only `upstream_error`
 * (gateway.events.4), after which clients try again (gateway.errors.upstream_error).
 */
export const STOPPED = upstreamError(
  "upstream_error",
  "the program stopped before the answer was whole",
  { endedBy: "stop" },
);

export const REVOKED: UpstreamError = {
  ...STOPPED,
  reason: "its key was revoked or has expired",
  endedBy: "revocation",
};

export class InFlight {
  readonly #ends = new Set<() => void>();
  #hasEnded = false;

  enter(end: () => void): () => void {
    if (this.#hasEnded) end();
    else this.#ends.add(end);
    return () => void this.#ends.delete(end);
  }

  /** Ends every answer, and each that begins later. */
  end(): void {
    this.#hasEnded = true;
    for (const end of this.#ends) end();
    this.#ends.clear();
  }
}

export async function untilStop<R>(
  inFlight: InFlight,
  result: Promise<R>,
  stopped: UpstreamError,
): Promise<R | (UpstreamError & CompletionStats)> {
  const stop = Promise.withResolvers<UpstreamError & CompletionStats>();
  const leave = inFlight.enter(() => stop.resolve({ ...stopped }));
  try {
    return await Promise.race([result, stop.promise]);
  } finally {
    leave();
  }
}
