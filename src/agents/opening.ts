// Opens the agent service on its door: definitions, threads, runs, tools, and the engine behind.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { createExpiry } from "./approvals/expiry.ts";
import { openApprovalRoutes } from "./approvals/routes.ts";
import type { Around } from "./around.ts";
import { openDefinitionRoutes } from "./definitions/routes.ts";
import { agentStore } from "./definitions/store.ts";
import { createVersions } from "./definitions/versions.ts";
import { noteStore } from "./notes/store.ts";
import { createRunsAround } from "./runs/around.ts";
import { createEngine } from "./runs/engine.ts";
import type { PriceOf } from "./runs/prices.ts";
import { openRunRoutes } from "./runs/routes.ts";
import { createStarting, type Starting } from "./runs/starting.ts";
import { openEventRoute } from "./runs/stream/routes.ts";
import { createStreams } from "./runs/stream/streams.ts";
import { openThreadRoutes } from "./threads/routes.ts";
import type { ToolsAround } from "./tools/around.ts";
import { createBuiltins } from "./tools/builtin/builtins.ts";
import { type Catalog, createCatalog } from "./tools/catalog.ts";
import { createChoice } from "./tools/choice.ts";
import { createConnectionOpening } from "./tools/connections/opening.ts";
import { openConnectionRoutes } from "./tools/connections/routes.ts";
import { createHttpTool } from "./tools/http/endpoint.ts";
import { HTTP_PRICE, type ToolRevisionRow } from "./tools/http/revision.ts";
import { openRegistrationRoutes } from "./tools/http/routes.ts";
import { toolStore } from "./tools/http/store.ts";
import { openTrialRoute } from "./tools/http/trial-routes.ts";
import { openToolRoutes } from "./tools/routes.ts";
import { createSchemaCheck } from "./tools/schema/check.ts";
import { createToolsets } from "./tools/toolsets.ts";
import { openUsageRoute } from "./usage/routes.ts";

export interface Agents {
  /** For what starts runs by itself: it writes them inside transactions of its own. */
  prepareRun: Starting["prepare"];
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
  const { database, access, egress, compute, clock, log } = around;
  const notes = database.bind(noteStore);
  const catalog = createCatalog(
    createBuiltins({ search: around.inside.search, egress, compute, notes }),
  );
  const toolsAround = { ...around, catalog, tools: database.bind(toolStore) };
  openDefinitionRoutes(door, around, { lookUpTools: createChoice(toolsAround) });
  openThreadRoutes(door, around);
  openConnectionRoutes(door, around);
  const createTool = openTools(door, toolsAround);
  const findVersion = createVersions(database.bind(agentStore));
  const starting = createStarting(around, {
    runs,
    findVersion,
    priceOf: keepPrices(around, catalog),
  });
  const streams = createStreams({ runs, database, findCaller: access.findCaller, clock, log });
  openUsageRoute(door, around);
  openRunRoutes(door, runsAround, starting);
  openApprovalRoutes(door, runsAround);
  openEventRoute(door, runsAround, streams);
  const engine = createEngine({
    ...{ around, store: runs, findVersion },
    openToolset: createToolsets({ ...toolsAround, createTool }),
  });
  return {
    prepareRun: starting.prepare,
    services: [createExpiry(around, runs), engine],
    listening: [streams.service],
    drain: engine.drain,
    look: engine.look,
  };
}

/** The routes of tools; what makes a tool of a revision, also for runs. */
function openTools(door: Door, around: ToolsAround) {
  const { egress, compute } = around;
  const openConnection = createConnectionOpening(around);
  const createTool = (revision: ToolRevisionRow) =>
    createHttpTool(revision, { egress, openConnection });
  openToolRoutes(door, around);
  const judgeParameters = createSchemaCheck(compute);
  openRegistrationRoutes(door, around, { judgeUrl: egress.judge, judgeParameters });
  openTrialRoute(door, around, createTool);
  return createTool;
}

/** What a call costs by today's settings, which are gathered only when they are others. */
function keepPrices({ settings }: Pick<Around, "settings">, catalog: Catalog): PriceOf {
  let { tool_prices } = settings().agents;
  let prices = new Map(Object.entries(tool_prices));
  return ({ name, kind }) => {
    const today = settings().agents.tool_prices;
    if (today !== tool_prices) {
      tool_prices = today;
      prices = new Map(Object.entries(today));
    }
    if (kind === "http") return HTTP_PRICE;
    const tool = catalog.find(name);
    return tool ? catalog.priceOf(tool, prices) : (prices.get(name) ?? null);
  };
}
