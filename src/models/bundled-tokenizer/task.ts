// Counting with the bundled tokenizer, in a Worker: its time depends on what the texts are.
import type { Compute, ComputeTask, ComputeTurn } from "../../platform/compute/index.ts";

export interface TokensInput {
  texts: string[];
  tokens_max: number;
}

export const TOKENS: ComputeTask<TokensInput, number> = { name: "tokens", timeoutMs: 5_000 };

/**
 * Tokens of all the texts, or some number beyond `tokens_max`, where it stops to count. null: not
 * counted in time, or the caller left.
 */
export type CountTexts = (
  texts: string[],
  tokens_max: number,
  turn: ComputeTurn,
) => Promise<number | null>;

export function createTextCount(compute: Compute): CountTexts {
  return async (texts, tokens_max, turn) => {
    const computed = await compute.run(TOKENS, { texts, tokens_max }, turn);
    return computed.ok ? computed.value : null;
  };
}
