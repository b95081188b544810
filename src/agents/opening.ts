// Opens the agent service on its door: definitions, threads, runs, tools, and the engine behind.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { createExpiry } from "./approvals/expiry.ts";
import { openApprovalRoutes } from "./approvals/routes.ts";
import type { Around } from "./around.ts";
import { openDefinitionRoutes } from "./definitions/routes.ts";
import { agentStore } from "./definitions/store.ts";
import { createVersions } from "./definitions/versions.ts";
import { createRetention } from "./retention.ts";
import { createRunsAround } from "./runs/around.ts";
import { createEngine } from "./runs/engine.ts";
import type { PriceOf } from "./runs/prices.ts";
import { openRunRoutes } from "./runs/routes.ts";
import { createStarting } from "./runs/starting.ts";
import { openEventRoute } from "./runs/stream/routes.ts";
import { createStreams } from "./runs/stream/streams.ts";
import { openThreadRoutes } from "./threads/routes.ts";
import { createBuiltins } from "./tools/builtin/builtins.ts";
import { type Catalog, createCatalog } from "./tools/catalog.ts";
import { openToolRoutes } from "./tools/routes.ts";
import { openUsageRoute } from "./usage/routes.ts";

export interface Agents {
  /** In the order of their start: in front of the entrance, so that they stop behind it. */
  services: readonly Service[];
  /** Started behind the entrance: their streams end before it waits for its connections. */
  listening: readonly Service[];
  /** A stop has begun: no further round begins. */
  drain(): void;
  /** How many runs are executed now. */
  look(): { executing: number };
}

/** agents.does.p1, agents.does.p2 */
export function openAgents(door: Door, around: Around): Agents {
  const runsAround = createRunsAround(around);
  const { runs } = runsAround;
  const { database, access, clock, log } = around;
  const tools = createCatalog(createBuiltins({ search: around.inside.search }));
  openDefinitionRoutes(door, around, { tools });
  openThreadRoutes(door, around);
  openToolRoutes(door, around, { tools });
  const findVersion = createVersions(database.bind(agentStore));
  const starting = createStarting(around, {
    runs,
    findVersion,
    priceOf: keepPrices(around, tools),
  });
  const streams = createStreams({ runs, database, findCaller: access.findCaller, clock, log });
  openUsageRoute(door, around);
  openRunRoutes(door, runsAround, starting);
  openApprovalRoutes(door, runsAround);
  openEventRoute(door, runsAround, streams);
  const engine = createEngine({
    ...{ around, store: runs, findVersion },
    openToolset: async () => ({ find: tools.find }),
  });
  return {
    services: [createRetention(around), createExpiry(around, runs), engine],
    listening: [streams.service],
    drain: engine.drain,
    look: engine.look,
  };
}

/** What a call costs by today's settings, which are gathered only when they are others. */
function keepPrices({ settings }: Pick<Around, "settings">, tools: Catalog): PriceOf {
  let { tool_prices } = settings().agents;
  let prices = new Map(Object.entries(tool_prices));
  return (name) => {
    const today = settings().agents.tool_prices;
    if (today !== tool_prices) {
      tool_prices = today;
      prices = new Map(Object.entries(today));
    }
    const tool = tools.find(name);
    return tool ? tools.priceOf(tool, prices) : (prices.get(name) ?? null);
  };
}
