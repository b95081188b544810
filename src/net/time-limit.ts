// Bounds one piece of work by time and by its caller's patience, and says which of them ended it.
import type { Cancel, Clock } from "../platform/clock.ts";

export type EndedBy = "timeout" | "aborted";

export interface TimeLimit {
  /** What ended it; null: it goes on. */
  readonly ended: EndedBy | null;
  /** Calls back once, should it end; not any more once the returned is called. */
  onEnd(run: (why: EndedBy) => void): Cancel;
  /** Ends it as if its caller had left. */
  end(): void;
  /** The work is done: nothing is waited for any more. */
  release(): void;
}

export function createTimeLimit(
  clock: Clock,
  timeout_ms: number,
  caller: AbortSignal | undefined,
): TimeLimit {
  let ended: EndedBy | null = null;
  const waiting = new Set<(why: EndedBy) => void>();
  const release = () => {
    cancelTimer();
    caller?.removeEventListener("abort", leave);
  };
  const finish = (why: EndedBy) => {
    if (ended !== null) return;
    ended = why;
    release();
    for (const run of waiting) run(why);
    waiting.clear();
  };
  const leave = () => finish("aborted");
  const cancelTimer = clock.after(timeout_ms, () => finish("timeout"));
  caller?.addEventListener("abort", leave, { once: true });
  if (caller?.aborted) leave();
  return {
    get ended() {
      return ended;
    },
    onEnd(run) {
      waiting.add(run);
      return () => waiting.delete(run);
    },
    end: leave,
    release,
  };
}
