// A line before work that fills turns of the event loop: one is served at a time.
import { nextTurn } from "../../platform/clock.ts";

/** null: too many wait, or the caller left before it was served. */
export type Serve = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T | null>;

/** Serves in order of arrival; each begins in a turn of its own. */
export function createLine(waiting_max: number): Serve {
  const waiting = new Set<() => void>();
  let isBusy = false;
  const callNext = () => {
    const [next] = waiting;
    if (!next) isBusy = false;
    next?.();
  };
  const stand = (signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      const step = (isServed: boolean) => {
        waiting.delete(serve);
        signal.removeEventListener("abort", leave);
        resolve(isServed);
      };
      const serve = () => step(true);
      const leave = () => step(false);
      waiting.add(serve);
      signal.addEventListener("abort", leave, { once: true });
    });
  return async (work, signal) => {
    if (signal.aborted || waiting.size >= waiting_max) return null;
    if (isBusy && !(await stand(signal))) return null;
    isBusy = true;
    try {
      return await work();
    } finally {
      void nextTurn().then(callNext);
    }
  };
}
