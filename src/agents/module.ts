// Opens the agent service on its door: definitions, threads, runs, tools, and the engine behind.
import type { Router } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import { ApprovalExpiry } from "./approvals/expiry.ts";
import { openApprovalRoutes } from "./approvals/routes.ts";
import { openDefinitionRoutes } from "./definitions/routes.ts";
import { agentStore } from "./definitions/store.ts";
import { createVersions } from "./definitions/versions.ts";
import type { AgentsDeps } from "./deps.ts";
import { noteStore } from "./notes/store.ts";
import type { PriceOf } from "./runs/cost.ts";
import { createRunsDeps } from "./runs/deps.ts";
import { RunEngine } from "./runs/engine.ts";
import { openEventRoute } from "./runs/events/routes.ts";
import { RunStreams } from "./runs/events/streams.ts";
import { openRunRoutes } from "./runs/routes.ts";
import { RunStarter } from "./runs/start.ts";
import { openThreadRoutes } from "./threads/routes.ts";
import { type Catalog, createBuiltins, createCatalog, createToolLookup } from "./tools/catalog.ts";
import { createCredentials } from "./tools/connections/connections.ts";
import { openConnectionRoutes } from "./tools/connections/routes.ts";
import { createHttpTool } from "./tools/http/endpoint.ts";
import { openRegistrationRoutes, openTrialRoute } from "./tools/http/routes.ts";
import { toolStore } from "./tools/http/store.ts";
import { createSchemaCheck } from "./tools/json-schema/check.ts";
import { HTTP_PRICE, type ToolRevisionRow } from "./tools/revision.ts";
import { openToolRoutes, type ToolsDeps } from "./tools/routes.ts";
import { createToolsets } from "./tools/toolsets.ts";
import { openUsageRoute } from "./usage/routes.ts";

export interface AgentsModule {
  /** For what starts runs by itself: it writes them inside transactions of its own. */
  prepareRun: RunStarter["prepare"];
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
export function createAgents(door: Router, deps: AgentsDeps): AgentsModule {
  const runsAround = createRunsDeps(deps);
  const { runs } = runsAround;
  const { database, access, egress, compute, clock, log } = deps;
  const notes = database.bind(noteStore);
  const catalog = createCatalog(
    createBuiltins({ search: deps.inside.search, egress, compute, notes }),
  );
  const toolsAround = { ...deps, catalog, tools: database.bind(toolStore) };
  openDefinitionRoutes(door, deps, { lookupTools: createToolLookup(toolsAround) });
  openThreadRoutes(door, deps);
  openConnectionRoutes(door, deps);
  const createTool = openTools(door, toolsAround);
  const findVersion = createVersions(database.bind(agentStore));
  const starter = new RunStarter(deps, {
    runs,
    findVersion,
    priceOf: keepPrices(deps, catalog),
  });
  const streams = new RunStreams({ runs, database, findCaller: access.findCaller, clock, log });
  openUsageRoute(door, deps);
  openRunRoutes(door, runsAround, starter);
  openApprovalRoutes(door, runsAround);
  openEventRoute(door, runsAround, streams);
  const engine = new RunEngine({
    ...{ deps, store: runs, findVersion },
    openToolset: createToolsets({ ...toolsAround, createTool }),
  });
  return {
    prepareRun: (...run) => starter.prepare(...run),
    services: [new ApprovalExpiry(deps, runs), engine],
    listening: [streams],
    drain: () => engine.drain(),
    look: () => ({ executing: engine.executing }),
  };
}

/** The routes of tools; what makes a tool of a revision, also for runs. */
function openTools(door: Router, deps: ToolsDeps) {
  const { egress, compute } = deps;
  const openConnection = createCredentials(deps);
  const createTool = (revision: ToolRevisionRow) =>
    createHttpTool(revision, { egress, openConnection });
  openToolRoutes(door, deps);
  const judgeParameters = createSchemaCheck(compute);
  openRegistrationRoutes(door, deps, { judgeUrl: egress.judge, judgeParameters });
  openTrialRoute(door, deps, createTool);
  return createTool;
}

/** What a call costs by today's settings, which are gathered only when they are others. */
function keepPrices({ settings }: Pick<AgentsDeps, "settings">, catalog: Catalog): PriceOf {
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
