// Wall clock, monotonic clock and timers; injected, so that tests can move time.
import { guardCallback } from "./error-boundary.ts";

/** Stops a timer; harmless after it fired. */
export type Cancel = () => void;

export interface Clock {
  /** Wall time in milliseconds since 1970 (UTC), for people and other systems. */
  now(): number;
  /** Milliseconds that never go backwards, for durations, limits and deadlines. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`. A pending timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Cancel;
}

/** The machine's clock; `offsetMs` shifts only the wall clock (`wadi dev --now`). */
export function createSystemClock(offsetMs = 0): Clock {
  return {
    now: () => Date.now() + offsetMs,
    monotonic: () => performance.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** The same clock, except that errors of timer callbacks go to `onBug`. */
export function containTimers(clock: Clock, onBug: (bug: unknown) => void): Clock {
  return { ...clock, after: (delayMs, run) => clock.after(delayMs, guardCallback(onBug, run)) };
}

/** Resolves with true after `delayMs`, or with false as soon as `signal` aborts. */
export function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const leave = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", leave);
      resolve(true);
    });
    signal?.addEventListener("abort", leave, { once: true });
  });
}

/** Waits for `work`, but at most `withinMs`; returns true if it ended in time. */
export async function settlesWithin(clock: Clock, withinMs: number, work: Promise<void>) {
  const over = new AbortController();
  const late = wait(clock, withinMs, over.signal);
  try {
    return await Promise.race([work.then(() => true), late.then(() => false)]);
  } finally {
    over.abort();
  }
}

/** Resolves in the next turn of the event loop, so that long computations don't block it. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A signal that aborts after `delayMs`, or as soon as `also` does; `cancel` ends the waiting. */
export function abortAfter(clock: Clock, delayMs: number, also?: AbortSignal) {
  const controller = new AbortController();
  const abort = () => {
    cancel();
    controller.abort();
  };
  const cancelTimer = clock.after(delayMs, abort);
  const cancel = () => {
    cancelTimer();
    also?.removeEventListener("abort", abort);
  };
  if (also?.aborted) abort();
  also?.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, cancel };
}
