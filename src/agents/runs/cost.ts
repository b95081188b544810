// What a run costs: rounds and calls at its frozen prices, where unknown never becomes zero.
import { costOf, type TokenUsage } from "../../models/index.ts";
import { formatMoney, parseMoney } from "../../platform/money.ts";
import type { Prices, RunRow } from "./run.ts";

type Cost = Pick<RunRow["cost"], "model" | "tools" | "total">;

/** What something cost: micro-SAR, and whether its price is known. */
export type Amount = number | null;

/** agents.does.cost.1: of an estimate, or without both prices, nobody knows. */
export function priceRound(
  prices: Prices,
  model: string,
  usage: TokenUsage,
  usage_estimated: boolean,
): Amount {
  const { prompt = null, completion = null } = prices.models[model] ?? {};
  if (prompt === null || completion === null || usage_estimated) return null;
  return costOf(usage, { prompt: parseMoney(prompt), completion: parseMoney(completion) });
}

/** The price of one call; null: unknown. */
export function priceCall(prices: Prices, tool: string): Amount {
  const price = prices.tools[tool] ?? null;
  return price === null ? null : parseMoney(price);
}

/** agents.does.cost.2: both parts, and their total where both are known. */
export function addCost<C extends Cost>(cost: C, part: "model" | "tools", amount: Amount): C {
  const next = { ...cost, [part]: addAmounts(cost[part], amount) };
  return { ...next, total: addAmounts(next.model, next.tools) };
}

/** agents.does.cost.3: what is known of it, whatever else is not. */
export function addPriced(priced: number, amount: Amount): number {
  return addAmounts(priced, amount ?? 0) ?? priced;
}

/** Unknown and anything is unknown; so is what no number can hold exactly. */
function addAmounts(one: Amount, other: Amount): Amount {
  if (one === null || other === null) return null;
  const sum = one + other;
  return Number.isSafeInteger(sum) ? sum : null;
}

/** As steps show it. */
export function writeAmount(amount: Amount): string | null {
  return amount === null ? null : formatMoney(amount);
}
