// What an answer costs by the price of its model.
import type { ModelSettings } from "../settings/index.ts";
import type { TokenUsage } from "./providers/contract.ts";

const PRICED_TOKENS = 1_000_000;

/**
 * Whole micro-SAR, rounded half up once, for both kinds of tokens together; null: the price is
 * unknown, or the amount beyond any that can be written.
 */
export function costOf(
  { prompt_tokens, completion_tokens }: TokenUsage,
  price: ModelSettings["price"],
): number | null {
  if (price === null) return null;
  const parts = prompt_tokens * price.prompt + completion_tokens * price.completion;
  const whole = parts + PRICED_TOKENS / 2;
  if (Number.isSafeInteger(whole)) return (whole - (whole % PRICED_TOKENS)) / PRICED_TOKENS;
  const exact =
    BigInt(prompt_tokens) * BigInt(price.prompt) +
    BigInt(completion_tokens) * BigInt(price.completion) +
    BigInt(PRICED_TOKENS / 2);
  const cost = Number(exact / BigInt(PRICED_TOKENS));
  return Number.isSafeInteger(cost) ? cost : null;
}
