// The callers who wait for a unit, in the order in which they came; whoever leaves is forgotten.
import type { Failure } from "../upstream/contract.ts";
import { explainCut } from "../upstream/openai-failure.ts";

/** undefined: go on; else what became of it. */
export type Fate = Failure | undefined;

export class Waiters {
  readonly #waiting = new Set<(fate: Fate) => void>();

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits behind all others for as long as the caller does. */
  join(signal: AbortSignal): Promise<Fate> {
    const { promise, resolve } = Promise.withResolvers<Fate>();
    const end = (fate: Fate) => {
      this.#waiting.delete(end);
      signal.removeEventListener("abort", leave);
      resolve(fate);
    };
    const leave = () => end(explainCut("left"));
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(end);
    return promise;
  }

  /** Tells all of them the same, the first one first; how many they were. */
  release(fate: Fate): number {
    const count = this.#waiting.size;
    for (const end of this.#waiting) end(fate);
    return count;
  }
}
