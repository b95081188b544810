// The catalogue of built-in tools: found by name, shown as revisions, described to a model.
import type { ModelTool } from "../../models/index.ts";
import type { BuiltinTool, Tool } from "./contract.ts";
import type { ToolRevision } from "./tool.ts";

/** The day of the first built-in tools: their revisions lie in the program, not in a database. */
const MADE_AT = Date.UTC(2026, 0, 1);

/** Micro-SAR per call by the tool's name, as the operator set them. */
export type ToolPrices = ReadonlyMap<string, number>;

export interface Catalog {
  /** undefined: no built-in tool has that name. */
  find(name: string): BuiltinTool | undefined;
  /** Micro-SAR per call; null: unknown. */
  priceOf(tool: BuiltinTool, prices: ToolPrices): number | null;
  list(prices: ToolPrices): ToolRevision[];
}

export function createCatalog(builtins: readonly BuiltinTool[]): Catalog {
  const byName = new Map(builtins.map((tool) => [tool.name, tool]));
  return {
    find: (name) => byName.get(name),
    priceOf,
    list: (prices) => builtins.map((tool) => describeRevision(tool, priceOf(tool, prices))),
  };
}

/** agents.does.cost.2: what nobody priced is unknown, unless it is free. */
function priceOf({ name, is_free }: BuiltinTool, prices: ToolPrices): number | null {
  return prices.get(name) ?? (is_free ? 0 : null);
}

/** agents.endpoints.tools.get_tools */
function describeRevision(tool: BuiltinTool, price_sar: number | null): ToolRevision {
  return {
    name: tool.name,
    kind: "builtin",
    revision: tool.revision,
    risk: tool.risk,
    title: tool.title,
    description: tool.description,
    parameters: tool.parameters,
    endpoint: null,
    connection_id: null,
    timeout_ms: tool.timeout_ms,
    external_content: tool.external_content,
    // Reading twice changes nothing, and what the platform writes cannot be half done.
    idempotent: true,
    price_sar,
    status: "enabled",
    latest: true,
    created_at: MADE_AT,
  };
}

/** A tool as a model is told of it: the same object each time. */
export function toModelTool(tool: Tool): ModelTool {
  let shown = modelTools.get(tool);
  if (!shown) {
    const { name, description, parameters } = tool;
    shown = { type: "function", function: { name, description, parameters } };
    modelTools.set(tool, shown);
  }
  return shown;
}

const modelTools = new WeakMap<Tool, ModelTool>();
