// Prices of tool calls by the current settings, which are read again after a change.
import type { Settings } from "../../settings/index.ts";
import type { PriceOf } from "../runs/cost.ts";
import type { Catalog } from "./catalog.ts";
import { HTTP_PRICE } from "./revision.ts";

export function createPriceOf(settings: () => Settings, catalog: Catalog): PriceOf {
  let { tool_prices } = settings().agents;
  let prices = new Map(Object.entries(tool_prices));
  return ({ name, kind }) => {
    const current = settings().agents.tool_prices;
    if (current !== tool_prices) {
      tool_prices = current;
      prices = new Map(Object.entries(current));
    }
    if (kind !== "builtin") return HTTP_PRICE;
    const tool = catalog.find(name);
    return tool ? catalog.priceOf(tool, prices) : (prices.get(name) ?? null);
  };
}
