// A clock that a test advances; every timer fires at its own instant.
import type { Cancel, Clock } from "../../src/platform/clock.ts";

export interface ManualClock extends Clock {
  /**
   * Moves both clocks, and fires due timers in order; after each one its dependent work runs. Work
   * started right before has set its timers by then. `advance(0)` only lets pending work run.
   */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, like an operator or a time server. */
  shiftWall(ms: number): void;
  pending(): number;
}

/** Longest delay of a timer; a longer one fires at once, as those of the runtime do. */
const TIMER_MS_MAX = 2_147_483_647;

interface Timer {
  due_ms: number;
  run(): void;
}

/** Starts at a fixed instant of 2026; a timer without delay fires without an advance. */
export function createManualClock(start_ms = Date.UTC(2026, 10, 20, 12)): ManualClock {
  let monotonic_ms = 0;
  let offsetMs = start_ms;
  const timers = new Set<Timer>();

  const fire = (timer: Timer) => {
    if (timers.delete(timer)) timer.run();
  };
  const findDue = (until_ms: number): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers) {
      if (timer.due_ms <= until_ms && timer.due_ms < (first?.due_ms ?? Infinity)) first = timer;
    }
    return first;
  };

  return {
    now: () => Math.floor(offsetMs + monotonic_ms),
    monotonic: () => monotonic_ms,
    after(delay_ms, run): Cancel {
      const waitMs = delay_ms > TIMER_MS_MAX ? 0 : Math.max(0, delay_ms);
      const timer = { due_ms: monotonic_ms + waitMs, run };
      timers.add(timer);
      if (waitMs === 0) setImmediate(fire, timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const until_ms = monotonic_ms + ms;
      await settle();
      for (let timer = findDue(until_ms); timer; timer = findDue(until_ms)) {
        monotonic_ms = timer.due_ms;
        fire(timer);
        await settle();
      }
      monotonic_ms = until_ms;
    },
    shiftWall(ms) {
      offsetMs += ms;
    },
    pending: () => timers.size,
  };
}

/** Waits one turn of the event loop, in which every ready promise settles. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
