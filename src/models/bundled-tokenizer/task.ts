// Counting with the bundled tokenizer, in a Worker: its time depends on what the texts are.
import type { Compute, ComputeTask, ComputeTurn } from "../../compute/index.ts";

export interface TokensInput {
  texts: string[];
  tokensMax: number;
}

export const TOKENS: ComputeTask<TokensInput, number> = { name: "tokens", timeoutMs: 5_000 };

/**
 * Tokens of all the texts, or some number beyond `tokensMax`, where it stops to count. null: not
 * counted in time, or the caller left.
 */
export type CountTexts = (
  texts: string[],
  tokensMax: number,
  turn: ComputeTurn,
) => Promise<number | null>;

export function createTextCount(compute: Compute): CountTexts {
  return async (texts, tokensMax, turn) => {
    const computed = await compute.run(TOKENS, { texts, tokensMax }, turn);
    return computed.ok ? computed.value : null;
  };
}
