// The answers under way, so that a stop of the program can end them with a word to their callers.
import type { CompletionStats, UpstreamError } from "../models/index.ts";

const WHY = "the program stopped before the answer was whole";

/**
 * How an answer ends that a stop ends: what a stream can say of it is `upstream_error` alone
 * (gateway.events.4), and clients try again (gateway.errors.upstream_error).
 */
export const STOPPED: UpstreamError = {
  ok: false,
  code: "upstream_error",
  retryable: false,
  reason: WHY,
};

/** How a stream ends whose key was revoked under way, or has expired: its caller reads in band. */
export const REVOKED: UpstreamError = { ...STOPPED, reason: "its key was revoked or has expired" };

export interface InFlight {
  /** `end` is called when the time of a stop is over; what it returns forgets it. */
  enter(end: () => void): () => void;
  /** Ends every answer, and from now on each that begins. */
  end(): void;
}

export function createInFlight(): InFlight {
  const ends = new Set<() => void>();
  let hasEnded = false;
  return {
    enter(end) {
      if (hasEnded) end();
      else ends.add(end);
      return () => void ends.delete(end);
    },
    end() {
      hasEnded = true;
      for (const end of ends) end();
      ends.clear();
    },
  };
}

/** The ending, or `stopped` at a stop: for who has heard nothing of the answer yet. */
export function untilStop<E>(
  running: InFlight,
  ending: Promise<E>,
  stopped: UpstreamError,
): Promise<E | (UpstreamError & CompletionStats)> {
  const { promise, resolve, reject } = Promise.withResolvers<
    E | (UpstreamError & CompletionStats)
  >();
  const leave = running.enter(() => resolve({ ...stopped }));
  ending.then(
    (ending) => {
      leave();
      resolve(ending);
    },
    (failure) => {
      leave();
      reject(failure);
    },
  );
  return promise;
}

/** True: the caller may not go on. */
export function isRevoked({ reason: why }: UpstreamError): boolean {
  return why === REVOKED.reason;
}

/** True: nothing failed but the program's own time. */
export function isStopped({ reason: why }: UpstreamError): boolean {
  return why === WHY;
}
