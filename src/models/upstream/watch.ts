// Watches one upstream request: who leaves or keeps the others waiting too long ends it.
import type { Cancel, Clock } from "../../platform/clock.ts";

/**
 * `left`: the caller went away · `deaf`: the caller stopped reading · `late`: the answer did not
 * begin in time · `stalled`: it began, and then nothing came.
 */
export type Cut = "left" | "deaf" | "late" | "stalled";

export interface Watch {
  /** Aborts when the request was cut off or the watch ended. */
  readonly signal: AbortSignal;
  /** Why the request was cut off; null: it was not. */
  readonly cut: Cut | null;
  /** The answer has begun: from now on what comes next has `timeout_ms` to come. */
  allow(timeout_ms: number): void;
  /** Waits for an ear that holds back; meanwhile it is the caller whose time runs. */
  hold(held: Promise<void>): Promise<void>;
  /** The reply was read to its end: there is nothing left to abort. */
  complete(): void;
  /** Aborts whatever is still open, such as the rest of a broken reply. */
  end(): void;
}

/** Starts to watch; the answer has `timeout_ms` to begin. */
export function createWatch(clock: Clock, caller: AbortSignal, timeout_ms: number): Watch {
  const controller = new AbortController();
  let cut: Cut | null = null;
  let hasBegun = false;
  let isHeld = false;
  let isComplete = false;
  let allowed_ms = timeout_ms;
  let deadline = clock.monotonic() + timeout_ms;

  const cutOff = (why: Cut) => {
    cut ??= why;
    controller.abort();
  };
  const leave = () => cutOff("left");
  // One timer that looks again, rather than a new one for each of a stream's thousand pieces.
  const look = (): Cancel =>
    clock.after(Math.max(1, deadline - clock.monotonic()), () => {
      if (clock.monotonic() < deadline) cancel = look();
      else cutOff(isHeld ? "deaf" : hasBegun ? "stalled" : "late");
    });
  let cancel = look();
  if (caller.aborted) leave();
  else caller.addEventListener("abort", leave, { once: true });

  const allow = (next_ms: number) => {
    const next = clock.monotonic() + next_ms;
    const isSooner = next < deadline;
    allowed_ms = next_ms;
    deadline = next;
    if (!isSooner) return;
    cancel();
    cancel = look();
  };
  return {
    signal: controller.signal,
    get cut() {
      return cut;
    },
    allow(next_ms) {
      hasBegun = true;
      allow(next_ms);
    },
    async hold(held) {
      isHeld = true;
      allow(allowed_ms);
      await settleOrAbort(held, controller.signal);
      isHeld = false;
      allow(allowed_ms);
    },
    complete() {
      isComplete = true;
    },
    end() {
      cancel();
      caller.removeEventListener("abort", leave);
      if (!isComplete) controller.abort();
    },
  };
}

/** Resolves with the promise or at the abort, whichever is first; rejects as the promise does. */
function settleOrAbort(held: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  held.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  return promise;
}
