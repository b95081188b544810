// Watches one upstream request: who leaves or keeps the others waiting too long ends it.
import type { Cancel, Clock } from "../../platform/clock.ts";

/**
 * `left`: the caller went away · `deaf`: the caller stopped reading · `late`: the answer did not
 * begin in time · `stalled`: it began, and then nothing came.
 */
export type TimeoutReason = "left" | "deaf" | "late" | "stalled";

export interface RequestTimeouts {
  /** The answer has begun: from now on what comes next has `timeout_ms` to come. */
  allow(timeout_ms: number): void;
  /** An ear holds back: meanwhile it is the caller whose time runs, and who has `timeout_ms`. */
  hold(timeout_ms: number): void;
  /** The ear goes on, and the upstream's time runs again. */
  release(): void;
  /** Nobody is waited for any more. */
  end(): void;
}

/** Starts to watch; the answer has `timeout_ms` to begin. `onCut` is called once, or never. */
export function createRequestTimeouts(
  clock: Clock,
  caller: AbortSignal,
  timeout_ms: number,
  onCut: (cut: TimeoutReason) => void,
): RequestTimeouts {
  let hasBegun = false;
  let isHeld = false;
  let allowed_ms = timeout_ms;
  let deadline = clock.monotonic() + timeout_ms;

  const end = () => {
    cancel();
    caller.removeEventListener("abort", leave);
  };
  const cutOff = (why: TimeoutReason) => {
    end();
    onCut(why);
  };
  const leave = () => cutOff("left");
  // One timer that looks again, rather than a new one for each of a stream's thousand pieces.
  const look = (): Cancel =>
    clock.after(Math.max(1, deadline - clock.monotonic()), () => {
      if (clock.monotonic() < deadline) cancel = look();
      else cutOff(isHeld ? "deaf" : hasBegun ? "stalled" : "late");
    });
  let cancel = look();
  caller.addEventListener("abort", leave, { once: true });

  const setDeadline = (next_ms: number) => {
    const next = clock.monotonic() + next_ms;
    const isSooner = next < deadline;
    deadline = next;
    if (!isSooner) return;
    cancel();
    cancel = look();
  };
  return {
    allow(next_ms) {
      hasBegun = true;
      allowed_ms = next_ms;
      setDeadline(next_ms);
    },
    hold(held_ms) {
      isHeld = true;
      setDeadline(held_ms);
    },
    release() {
      isHeld = false;
      setDeadline(allowed_ms);
    },
    end,
  };
}
