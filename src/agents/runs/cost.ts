// The cost of a run: prices frozen at its start, and sums in which unknown never becomes zero.
import { costOf, type TokenUsage } from "../../models/index.ts";
import { formatMoney, parseMoney } from "../../platform/money.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { ToolPin } from "../definitions/version.ts";
import type { Prices, RunRow } from "./run.ts";

/** Micro-SAR; null: the price is unknown. */
export type Amount = number | null;

type Cost = Pick<RunRow["cost"], "model" | "tools" | "total">;

export type PriceOf = (tool: Pick<ToolPin, "name" | "kind">) => Amount;

/** agents.does.cost.2 */
export function freezePrices(
  { id, price }: Pick<ModelSettings, "id" | "price">,
  tools: readonly Pick<ToolPin, "name" | "kind">[],
  priceOf: PriceOf,
): Prices {
  const prompt = formatAmount(price?.prompt ?? null);
  const completion = formatAmount(price?.completion ?? null);
  return {
    currency: "SAR",
    models: { [id]: { prompt, completion } },
    tools: Object.fromEntries(tools.map((tool) => [tool.name, formatAmount(priceOf(tool))])),
  };
}

/** agents.does.cost.1: estimated usage and missing prices make a cost unknown. */
export function priceRound(
  prices: Prices,
  model: string,
  usage: TokenUsage,
  isEstimated: boolean,
): Amount {
  const { prompt = null, completion = null } = prices.models[model] ?? {};
  if (prompt === null || completion === null || isEstimated) return null;
  return costOf(usage, { prompt: parseMoney(prompt), completion: parseMoney(completion) });
}

export function priceCall(prices: Prices, tool: string): Amount {
  const price = prices.tools[tool] ?? null;
  return price === null ? null : parseMoney(price);
}

/** Counts a model's reply; a summary costs like a round and is none. */
export function addReply(row: RunRow, used: TokenUsage, cost: Amount, rounds: 0 | 1): RunRow {
  const { usage } = row;
  const prompt_tokens = usage.prompt_tokens + used.prompt_tokens;
  const completion_tokens = usage.completion_tokens + used.completion_tokens;
  return {
    ...row,
    cost: addCost(row.cost, "model", cost),
    priced: addPriced(row.priced, cost),
    usage: {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      rounds: usage.rounds + rounds,
      tool_calls: usage.tool_calls,
    },
  };
}

/** agents.does.cost.2: adds to one part, and to the total where both parts are known. */
export function addCost<C extends Cost>(cost: C, part: "model" | "tools", amount: Amount): C {
  const next = { ...cost, [part]: addAmounts(cost[part], amount) };
  return { ...next, total: addAmounts(next.model, next.tools) };
}

/** agents.does.cost.3: sums only known amounts. */
export function addPriced(priced: number, amount: Amount): number {
  return addAmounts(priced, amount ?? 0) ?? priced;
}

/** A sum that no number holds exactly is unknown too. */
function addAmounts(one: Amount, other: Amount): Amount {
  if (one === null || other === null) return null;
  const sum = one + other;
  return Number.isSafeInteger(sum) ? sum : null;
}

/** agents.does.cost.1: unknown is null, never zero. */
export function formatAmount(amount: Amount): string | null {
  return amount === null ? null : formatMoney(amount);
}
