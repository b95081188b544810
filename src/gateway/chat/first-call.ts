// Replies with one call at most, for callers that do not take several at once.
import type { Complete } from "../../models/index.ts";

/** Withholds all calls but the first: the model asks for the others after its result. */
export function firstCallOnly(complete: Complete): Complete {
  return (request, onChunk, signal) => {
    const pass: typeof onChunk = (chunk) =>
      chunk.kind === "call" && chunk.index > 0 ? undefined : onChunk(chunk);
    return complete(request, pass, signal);
  };
}
