// The prices that a run keeps from its start on, whatever they are changed to later.
import { formatMoney } from "../../platform/money.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { ToolPin } from "../definitions/version.ts";
import type { Prices } from "./run.ts";

/** Micro-SAR of one call of a tool as a version has pinned it; null: it has no known price. */
export type PriceOf = (tool: Pick<ToolPin, "name" | "kind">) => number | null;

/** agents.does.cost.2 */
export function freezePrices(
  { id, price }: Pick<ModelSettings, "id" | "price">,
  tools: readonly Pick<ToolPin, "name" | "kind">[],
  priceOf: PriceOf,
): Prices {
  return {
    currency: "SAR",
    models: { [id]: { prompt: write(price?.prompt), completion: write(price?.completion) } },
    tools: Object.fromEntries(tools.map((tool) => [tool.name, write(priceOf(tool))])),
  };
}

/** agents.does.cost.1: unknown is null, never zero. */
function write(micro: number | null | undefined): string | null {
  return micro === null || micro === undefined ? null : formatMoney(micro);
}
