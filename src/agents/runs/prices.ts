// The prices that a run keeps from its start on, whatever they are changed to later.
import { formatMoney } from "../../platform/money.ts";
import type { ModelSettings } from "../../platform/settings/index.ts";
import type { Prices } from "./run.ts";

/** Micro-SAR of one call; null: it has no known price. */
export type PriceOf = (tool: string) => number | null;

/** agents.does.cost.2 */
export function freezePrices(
  { id, price }: Pick<ModelSettings, "id" | "price">,
  tools: readonly string[],
  priceOf: PriceOf,
): Prices {
  return {
    currency: "SAR",
    models: { [id]: { prompt: write(price?.prompt), completion: write(price?.completion) } },
    tools: Object.fromEntries(tools.map((tool) => [tool, write(priceOf(tool))])),
  };
}

/** agents.does.cost.1: unknown is null, never zero. */
function write(micro: number | null | undefined): string | null {
  return micro === null || micro === undefined ? null : formatMoney(micro);
}
