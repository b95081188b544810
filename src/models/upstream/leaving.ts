// Ends an answer at once when its caller leaves, whatever it is waiting for.
import type { Ask, Ending, Failure } from "./contract.ts";
import { explainCut } from "./openai-failure.ts";

/** The same answer, which not even an ear that never comes back can hold. */
export function endAtLeaving<E>(
  answer: (ask: Ask, ear: E, signal: AbortSignal) => Promise<Ending>,
  explain: () => Failure = () => explainCut("left"),
): typeof answer {
  return async (ask, ear, signal) => {
    if (signal.aborted) return explain();
    const left = Promise.withResolvers<Ending>();
    const leave = () => left.resolve(explain());
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([left.promise, answer(ask, ear, signal)]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
