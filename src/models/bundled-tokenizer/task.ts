// Counts with the bundled tokenizer in a Worker, since its time depends on the texts.
import type { Compute, ComputeOptions, ComputeTask } from "../../compute/index.ts";

export interface TokensInput {
  texts: string[];
  tokensMax: number;
}

export const TOKENS: ComputeTask<TokensInput, number> = { name: "tokens", timeoutMs: 5_000 };

/**
 * Counts the tokens of all texts; stops beyond `tokensMax`. Returns null if not counted in time,
 * or if the caller left.
 */
export type CountTexts = (
  texts: string[],
  tokensMax: number,
  options: ComputeOptions,
) => Promise<number | null>;

export function createTextCount(compute: Compute): CountTexts {
  return async (texts, tokensMax, options) => {
    const computed = await compute.run(TOKENS, { texts, tokensMax }, options);
    return computed.ok ? computed.value : null;
  };
}
