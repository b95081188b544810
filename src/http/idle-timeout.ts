// Watches how long a stream has been silent, in both halves.
import type { Clock } from "../platform/clock.ts";

/** gateway.limits.keep_alive, agents.limits.stream_idle_comment */
const KEEP_ALIVE_MS = 15_000;

/** Calls `run` whenever nothing was sent for the time of a keep-alive; `end` tells of a sending. */
export function watchIdle(clock: Clock, run: () => void) {
  let brokenAt = clock.monotonic();
  let isOver = false;
  // One timer that looks again, rather than a new one for each chunk.
  const look = () => {
    if (clock.monotonic() - brokenAt >= KEEP_ALIVE_MS) {
      run();
      brokenAt = clock.monotonic();
    }
    // What it called may have ended it.
    if (isOver) return;
    cancel = clock.after(brokenAt + KEEP_ALIVE_MS - clock.monotonic(), look);
  };
  let cancel = clock.after(KEEP_ALIVE_MS, look);
  return {
    end() {
      brokenAt = clock.monotonic();
    },
    stop() {
      isOver = true;
      cancel();
    },
  };
}
