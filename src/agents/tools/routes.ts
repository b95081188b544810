// The routes of tools: the catalogue of what an agent version may use.
import type { Door } from "../../http/index.ts";
import { show } from "../../platform/shape.ts";
import type { Around } from "../around.ts";
import type { Catalog } from "./catalog.ts";
import { ToolList, ToolRevision } from "./tool.ts";

export interface ToolOptions {
  tools: Pick<Catalog, "list">;
}

export function openToolRoutes(
  door: Door,
  { settings }: Pick<Around, "settings">,
  { tools }: ToolOptions,
): void {
  // agents.endpoints.tools.get_tools
  door.get(
    "/v1/tools",
    {
      summary: "List tools",
      scope: "agents",
      replies: { 200: { description: "What an agent version may use.", schema: ToolList } },
      refusals: [],
    },
    () => {
      // agents.does.cost.2: today's prices, where a run keeps those of its start.
      const prices = new Map(Object.entries(settings().agents.tool_prices));
      return [200, { data: tools.list(prices).map((tool) => show(ToolRevision, tool)) }];
    },
  );
}
