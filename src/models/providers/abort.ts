// Ends an answer at once when its caller leaves, whatever it is waiting for.
import type { Completion, ModelRequest, UpstreamError } from "./contract.ts";
import { timeoutError } from "./openai/errors.ts";

/** The same answer, which not even an ear that never comes back can hold. */
export function abortOnDisconnect<E>(
  answer: (request: ModelRequest, onChunk: E, signal: AbortSignal) => Promise<Completion>,
  explain: () => UpstreamError = () => timeoutError("left"),
): typeof answer {
  return async (ask, onChunk, signal) => {
    if (signal.aborted) return explain();
    const left = Promise.withResolvers<Completion>();
    const leave = () => left.resolve(explain());
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([left.promise, answer(ask, onChunk, signal)]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
