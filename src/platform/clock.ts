// Time as a thing that is handed in: wall clock, monotonic clock and timers, so that tests can move
// them.
import { guardCallback } from "./error-boundary.ts";

/** Stops a timer; calling it again, or after the timer fired, does nothing. */
export type Cancel = () => void;

export interface Clock {
  /** Wall time in milliseconds since 1970 (UTC): for what people and other systems see. */
  now(): number;
  /** Milliseconds that never go backwards: for durations, limits and deadlines. */
  monotonic(): number;
  /** Calls `run` once after `delay_ms`. A waiting timer does not keep the process alive. */
  after(delay_ms: number, run: () => void): Cancel;
}

/** The machine's clock; `offsetMs` shifts the wall clock only (`wadi dev --now`). */
export function createSystemClock(offsetMs = 0): Clock {
  return {
    now: () => Date.now() + offsetMs,
    monotonic: () => performance.now(),
    after(delay_ms, run) {
      const timer = setTimeout(run, delay_ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** The same clock: what a timer's callback throws goes to `onBug` instead of ending the process. */
export function containTimers(clock: Clock, onBug: (bug: unknown) => void): Clock {
  return { ...clock, after: (delay_ms, run) => clock.after(delay_ms, guardCallback(onBug, run)) };
}

/**
 * Resolves after `delay_ms`, or as soon as `signal` aborts; says which: true when the time passed.
 */
export function wait(clock: Clock, delay_ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const leave = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(delay_ms, () => {
      signal?.removeEventListener("abort", leave);
      resolve(true);
    });
    signal?.addEventListener("abort", leave, { once: true });
  });
}

/** True when the work comes to its end within that time; it is waited for no longer. */
export async function endsWithin(clock: Clock, within_ms: number, work: Promise<void>) {
  const over = new AbortController();
  const late = wait(clock, within_ms, over.signal);
  try {
    return await Promise.race([work.then(() => true), late.then(() => false)]);
  } finally {
    over.abort();
  }
}

/** Resolves in the next turn of the event loop: who computes for long lets the others work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A signal that aborts after `delay_ms`, or as soon as `also` does; `cancel` ends the waiting. */
export function abortAfter(clock: Clock, delay_ms: number, also?: AbortSignal) {
  const controller = new AbortController();
  const abort = () => {
    cancel();
    controller.abort();
  };
  const cancelTimer = clock.after(delay_ms, abort);
  const cancel = () => {
    cancelTimer();
    also?.removeEventListener("abort", abort);
  };
  if (also?.aborted) abort();
  also?.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, cancel };
}
