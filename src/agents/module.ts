// Wires the agents module: its routes and the run engine.
import type { Router, StaticPage } from "../http/index.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import type { Tracer } from "../platform/spans.ts";
import { ApprovalExpiry } from "./approvals/expiry.ts";
import { openApprovalRoutes } from "./approvals/routes.ts";
import { Definitions } from "./definitions/definitions.ts";
import { openDefinitionRoutes } from "./definitions/routes.ts";
import { agentStore } from "./definitions/store.ts";
import { createVersionCache, type FindVersion } from "./definitions/version-cache.ts";
import type { AgentsDeps } from "./deps.ts";
import { Evaluations } from "./evaluations/evaluations.ts";
import { openEvaluationRoutes } from "./evaluations/routes.ts";
import { evaluationStore } from "./evaluations/store.ts";
import { EvaluationWorker } from "./evaluations/worker.ts";
import { createMcpPages, openMcpEndpoint } from "./mcp-server/routes.ts";
import { RunFigures } from "./metrics.ts";
import { noteStore } from "./notes/store.ts";
import { createRunsDeps, type RunsDeps } from "./runs/deps.ts";
import { RunEngine } from "./runs/engine.ts";
import type { LiveSnapshot } from "./runs/events/frames.ts";
import { LiveRuns } from "./runs/events/live.ts";
import { openEventRoute } from "./runs/events/routes.ts";
import { shareLive } from "./runs/events/share-live.ts";
import { RunStreams } from "./runs/events/streams.ts";
import { openRoundRoutes } from "./runs/round-routes.ts";
import { openRunRoutes } from "./runs/routes.ts";
import { RunStarter } from "./runs/start.ts";
import { readEnd } from "./runs/store/finish.ts";
import { runStore } from "./runs/store/index.ts";
import { RunTraces } from "./runs/trace.ts";
import { RunWaits } from "./runs/waits.ts";
import { openThreadRoutes } from "./threads/routes.ts";
import { createBuiltins, createCatalog, createToolLookup } from "./tools/catalog.ts";
import { createCredentials } from "./tools/connections/connections.ts";
import { openConnectionRoutes } from "./tools/connections/routes.ts";
import { createHttpTool } from "./tools/http/endpoint.ts";
import { openRegistrationRoutes, openTrialRoute } from "./tools/http/routes.ts";
import { toolStore } from "./tools/http/store/index.ts";
import { createSchemaCheck } from "./tools/json-schema/check.ts";
import { createMcp } from "./tools/mcp/mcp.ts";
import { openMcpRoutes } from "./tools/mcp/routes.ts";
import { createMcpTool, isListed } from "./tools/mcp/tool.ts";
import { createPriceOf } from "./tools/prices.ts";
import type { ToolRevisionRow } from "./tools/revision.ts";
import { openToolRoutes, type ToolsDeps } from "./tools/routes.ts";
import { createToolsets } from "./tools/toolsets.ts";
import { openUsageRoute } from "./usage/routes.ts";

export interface AgentsModule {
  /** Prepares runs for modules that start them inside their own transactions. */
  prepareRun: RunStarter["prepare"];
  /** Pages that need no key. */
  pages: readonly StaticPage[];
  /** Started before the server listens, so that they stop after it. */
  services: readonly Service[];
  /** Started after the server listens, so that their streams end before its connections. */
  listening: readonly Service[];
  /** Starts no further rounds, because the server is stopping. */
  drain(): void;
  /** Ends the event streams; clients open them again. */
  endStreams(): void;
  /** Counts the event streams of a key. */
  countStreams(key_id: string): number;
  /** Reads what a run's model writes in this process. */
  readLive(run_id: string): LiveSnapshot | undefined;
  show(metrics: Metrics): void;
}

/** agents.does.p1, agents.does.p2 */
export function createAgents(router: Router, given: AgentsDeps, tracer?: Tracer): AgentsModule {
  const figures = new RunFigures(given.database);
  const traces = tracer && new RunTraces(tracer);
  const countCall: AgentsDeps["countCall"] = (outcome) => figures.countCall(outcome);
  const live = new LiveRuns();
  const deps: AgentsDeps = { ...given, countCall, traces, live };
  if (traces) recordRoots(traces, given);
  const runsDeps = createRunsDeps(deps);
  const { runs } = runsDeps;
  const { database, access, egress, compute, clock, log } = deps;
  const notes = database.bind(noteStore);
  const catalog = createCatalog(
    createBuiltins({ search: deps.internal.search, egress, compute, notes }),
  );
  const toolsDeps = { ...deps, catalog, tools: database.bind(toolStore) };
  const checkSchema = createSchemaCheck(compute);
  const definitions = new Definitions(deps, createToolLookup(toolsDeps), checkSchema);
  openDefinitionRoutes(router, definitions, deps.alias);
  openThreadRoutes(router, runsDeps);
  openConnectionRoutes(router, deps);
  const { createTool, refresher } = openTools(router, toolsDeps);
  const findVersion = createVersionCache(database.bind(agentStore));
  const starter = new RunStarter(deps, {
    runs,
    findVersion,
    priceOf: createPriceOf(deps.settings, catalog),
    onStart: (caller) => engine.noteStarter(caller),
  });
  const { findCaller } = access;
  const streams = new RunStreams({ runs, live, database, findCaller, clock, log });
  openUsageRoute(router, deps);
  const waiting = { runs, database, findCaller, clock, log };
  const waits = new RunWaits({ ...waiting, name: "waits for runs" });
  const mcpWaits = new RunWaits({ ...waiting, name: "waits of MCP clients" });
  openRunRoutes(router, { ...runsDeps, starter, waits });
  openRoundRoutes(router, { ...runsDeps, findVersion });
  openApprovalRoutes(router, runsDeps);
  const evaluations = openEvaluations(router, { ...runsDeps, findVersion, starter });
  openEventRoute(router, runsDeps, streams);
  openMcpEndpoint(router, { ...runsDeps, starter, waits: mcpWaits });
  const engine = new RunEngine({
    deps,
    store: runs,
    findVersion,
    openToolset: createToolsets({ ...toolsDeps, createTool }),
  });
  const url = deps.settings().server.valkey;
  const shared = shareLive({ url, database, id: deps.ids.uuid(), live, log });
  return {
    prepareRun: (...run) => starter.prepare(...run),
    // Runs that end during a stop are still told to other processes.
    services: [...shared, new ApprovalExpiry(deps, runs), refresher, engine, evaluations],
    pages: createMcpPages(deps),
    listening: [streams, waits, mcpWaits],
    drain: () => engine.drain(),
    endStreams() {
      for (const one of [streams, waits, mcpWaits]) one.endAll();
    },
    countStreams: (key_id) => streams.count(key_id) + mcpWaits.count(key_id),
    readLive: (run_id) => live.read(run_id),
    show: (metrics) => figures.show(metrics, clock, () => engine.executing),
  };
}

function openTools(router: Router, deps: ToolsDeps) {
  const { egress, compute } = deps;
  const openConnection = createCredentials(deps);
  openToolRoutes(router, deps);
  const checkSchema = createSchemaCheck(compute);
  const mcp = createMcp({ ...deps, openConnection, checkSchema });
  openMcpRoutes(router, mcp.servers, deps);
  const createTool = (revision: ToolRevisionRow) =>
    isListed(revision)
      ? createMcpTool(revision, mcp.toolDeps)
      : createHttpTool(revision, { egress, openConnection });
  openRegistrationRoutes(router, deps, {
    checkUrl: (url: string) => egress.validate(url),
    checkSchema,
  });
  openTrialRoute(router, deps, createTool);
  return { createTool, refresher: mcp.refresher };
}

type EvaluationRouteDeps = RunsDeps & { findVersion: FindVersion; starter: RunStarter };

function openEvaluations(router: Router, deps: EvaluationRouteDeps): Service {
  const evaluations = deps.database.bind(evaluationStore);
  openEvaluationRoutes(router, new Evaluations({ ...deps, evaluations }));
  const prepareRun = deps.starter.prepare.bind(deps.starter);
  return new EvaluationWorker({ ...deps, evaluations, prepareRun });
}

/** Records the root of each run that this process ends, of idle ones too. */
export function recordRoots(
  traces: RunTraces,
  { database, log }: Pick<AgentsDeps, "database" | "log">,
): void {
  const runs = database.bind(runStore);
  const record = async (id: string) => {
    const run = await runs.find(id, null);
    if (run) traces.recordRun(run);
  };
  database.listen("run.ended", (end, isOwn) => {
    if (end === null || !isOwn) return;
    const { id } = readEnd(end);
    if (!traces.isRecorded({ id })) return;
    record(id).catch((error: unknown) => {
      log.error("runs: the end of a run could not be traced", { run_id: id, error });
    });
  });
}
