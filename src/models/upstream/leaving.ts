// Ends an answer at once when its caller leaves, whatever it is waiting for.
import type { Ask, Ending, Failure } from "./contract.ts";
import { explainCut } from "./openai-failure.ts";

/** What becomes of an answer whose caller has left. */
export const LEFT: Failure = explainCut("left");

/** The same answer, which also an ear that never comes back cannot hold. */
export function endAtLeaving<E>(
  answer: (ask: Ask, ear: E, signal: AbortSignal) => Promise<Ending>,
): typeof answer {
  return async (ask, ear, signal) => {
    if (signal.aborted) return LEFT;
    const left = Promise.withResolvers<Ending>();
    const leave = () => left.resolve(LEFT);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([left.promise, answer(ask, ear, signal)]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
