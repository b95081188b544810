// The composition root: builds all modules in order and joins them.
import { type Access, buildAccess, KeyUses, LimiterGroup, REACHED_LIMIT } from "./access/index.ts";
import {
  type Admin,
  createOperatorService,
  type Installation,
  listSweeps,
  type MembershipParts,
  type OperatorService,
  openMembership,
} from "./admin/index.ts";
import { Approval, createAgents, Run } from "./agents/index.ts";
import { backUpBeforeMigration, openBackups } from "./backup/index.ts";
import { type Activity, type Membership, Process, UNWATCHED } from "./cluster/index.ts";
import { ComputePool, type ComputeService } from "./compute/index.ts";
import { consoleRedirect, createConsoleRoutes } from "./console/index.ts";
import { type SharedCounters, shareCounters } from "./counters/index.ts";
import { createSecrets } from "./crypto/index.ts";
import {
  type Database,
  type DatabaseLocation,
  DatabaseUnusable,
  omitUnavailable,
  openDatabase,
  PageChecks,
} from "./database/index.ts";
import { createDocsPages } from "./docs/index.ts";
import { createGateway, type Gateway, InFlight, writeChanges } from "./gateway/index.ts";
import {
  createDocumentPage,
  createHealthPages,
  createRouters,
  HttpServer,
  type Router,
  type Routers,
  type StaticPage,
  waitForClients,
} from "./http/index.ts";
import { installationStore } from "./installation/index.ts";
import {
  buildModels,
  type ModelRegistry,
  type Models,
  type OpenBackend,
  openModelRoutes,
} from "./models/index.ts";
import { createTrustedEgress, GuardedEgress } from "./net/index.ts";
import { openObservability } from "./observability/index.ts";
import type { Clock } from "./platform/clock.ts";
import type { Ids } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";
import {
  type JoinedServices,
  joinServices,
  type Service,
  type Services,
} from "./platform/service.ts";
import type { Tracer } from "./platform/spans.ts";
import { Sweeper } from "./retention/index.ts";
import type { Settings } from "./settings/index.ts";
import { DiskSpace } from "./storage/index.ts";
import { stores } from "./stores.ts";
import { createHandover, type Handover, type Predecessor } from "./takeover/index.ts";
import { createTriggersModule, Fire, TriggerName } from "./triggers/index.ts";
import { documentEvents, openWebhooks } from "./webhooks/index.ts";

/** URLs of Workers' scripts; only this file's place is the same in the source and the binary. */
export const WRITER = new URL("./writer-worker.ts", import.meta.url);
const COMPUTE = new URL("./compute-worker.ts", import.meta.url);
export const WATCHDOG = new URL("./watchdog-worker.ts", import.meta.url);

export interface AppOptions {
  settings: Settings;
  place: DatabaseLocation;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
  installation: Installation;
  /** File of the secrets key; without one the key lasts as long as the app. */
  secretsKeyFile: string | null;
  /** Computes what could block the event loop; Workers by default. */
  compute?: ComputeService;
  openBackend?: OpenBackend;
  /** Serves a database even if committed data is missing. */
  acceptsLoss?: boolean;
  /** /metrics needs no token. */
  hasOpenMetrics?: boolean;
  /** Answers only requests to names of this machine, since the keys are public. */
  isLocalOnly?: boolean;
  activity?: Activity;
  /** The server on the same data whose place this one takes. */
  predecessor?: Predecessor | null;
  writeCommands?(): Promise<string>;
  settingsFile?: MembershipParts["settingsFile"];
  /** Several processes listen on the addresses together. */
  isCommon?: boolean;
  /** Called when nothing can be stored any more and the process must end. */
  onFatal(failure: unknown): void;
}

export interface App extends Services {
  database: Database;
  access: Access;
  /** Changes with the settings, so callers must not keep it. */
  readonly admin: Admin;
  server: HttpServer;
  handover: Handover;
  /**
   * Applies other settings from the next request on; when it rejects, nothing has changed. Call it
   * once at a time, and only with changes that need no restart. Returns false where the certificate
   * before stays in force, at least for now.
   */
  change(settings: Settings): Promise<boolean>;
}

/** agents.events.webhook.4: the events that the agent service sends. */
const EVENTS = documentEvents({
  "run.completed": { run: Run },
  "run.failed": { run: Run },
  "approval.requested": { approval: Approval },
  "approval.decided": { approval: Approval },
  "trigger.fired": { trigger: TriggerName, fire: Fire },
  "limit.reached": REACHED_LIMIT,
});

/** Builds all modules on a database; nothing listens before the start. */
export async function buildApp(given: AppOptions): Promise<App> {
  const options = { ...given, log: omitUnavailable(given.log) };
  const { place, clock, log } = options;
  const database = await openDatabase({
    place,
    stores,
    clock,
    exclusive: options.predecessor ? "later" : true,
    installation: options.predecessor?.installation,
    acceptLoss: options.acceptsLoss
      ? (what) => log.warn("database: the start accepts the loss of data", { error: what })
      : undefined,
    onFailure(failure, isFatal) {
      log.error("database: a read or write failed", { error: describeFailure(failure) });
      if (isFatal) options.onFatal(failure);
    },
    onRecovery: () => log.info("database: works again"),
    beforeMigration: backUpBeforeMigration({
      ...{ settings: options.settings, place, program: options.version, clock },
      say: (message) => log.info(`backup: ${message}`),
    }),
  });
  try {
    const { id } = await database.bind(installationStore).find();
    return await joinModules({ ...options, installationId: id }, database);
  } catch (failure) {
    await database.close();
    throw failure;
  }
}

async function joinModules(options: JoinOptions, database: Database): Promise<App> {
  const { clock, ids, log, place, activity = UNWATCHED, predecessor = null } = options;
  let { settings } = options;
  const current = () => settings;
  const egress = createTrustedEgress({ clock, log });
  const { access, first, process, shared } = openBase(options, database);
  const guarded = openGuarded(options, process, current);
  const { compute = new ComputePool({ script: COMPUTE, clock, log }) } = options;
  const running = new InFlight();
  const server = createServer(options, current, running);
  const monitoring = await openObservability({ ...options, egress });
  const { observer, tracer } = monitoring;
  const routers = createRouters({ settings, access, server, clock, ids, log, observer });

  const deps = { settings, database, egress, compute, tracer, clock, ids, log, process };
  const models = await buildModels({ ...deps, open: options.openBackend });
  const { registry } = models;
  openModelRoutes(routers.gateway, registry);
  const secrets = createSecrets({ database, file: options.secretsKeyFile, clock, log });
  const hashUser = (await secrets.openHashes())("users in the log");
  const chat = { registry, running, findCaller: access.findCaller, hashUser, predecessor, shared };
  const gateway = createGateway(routers.gateway, { ...deps, ...chat });
  const { internal } = gateway;
  const all = { ...deps, settings: current, egress: guarded, activity, internal, place };
  const agents = createAgentService(routers.agents, { ...all, access, secrets });

  const checks = new PageChecks(options);
  const backups = openBackups({ ...options, database });
  const parts = { server, registry, backups, gateway, agents, router: routers.gateway };
  const adminDeps = () => ({ settings, access, database, place, clock, ids, secrets });
  const operators = createOperatorService(options, parts, adminDeps);
  const drains = { drain: () => handover.drain(), undrain: () => handover.undrain() };
  const member = openMembership({ ...options, ...all, server, secrets, ...drains });
  const own = { database, server, process, routers, registry, gateway, checks, current, operators };
  const site = { ...own, ...(await openLimits(options, { ...own, agents, models })), member };
  openSite(options, site, [...monitoring.pages, ...agents.pages]);
  monitoring.show({ registry, gateway, parts: [compute, agents, ...backups.timers] });

  const sweeper = new Sweeper({ ...deps, sweeps: await listSweeps(all) });
  const background = [sweeper, compute, models.service, ...gateway.services, ...agents.services];
  const opened = listOpened(site, () => predecessor?.change(handover));
  const listening = [...backups.timers, checks, ...opened, ...agents.listening];
  const services = joinServices([...monitoring.services, ...first, ...background, ...listening]);
  const handover = openHandover(options, { ...site, services, agents, models });
  return {
    ...{ database, access, server, handover },
    get admin() {
      return operators.admin;
    },
    async change(other) {
      // Only this can fail, and it does so before it changes anything.
      await models.change(other);
      settings = other;
      for (const part of [routers, gateway, operators]) part.change(other);
      agents.change();
      return server.changeCertificate(other.server.certificate);
    },
    start: services.start,
    /** Stops the services first; closes what the build has opened even without a start. */
    async stop(deadlineMs) {
      for (const part of [agents, operators]) part.drain();
      try {
        await services.stop(deadlineMs);
      } finally {
        for (const client of [egress, guarded]) client.close();
        await database.close();
      }
    },
  };
}

/** Lists the server with what comes right before and after it. */
function listOpened(
  { server, member, counters }: Site,
  takeOver: () => Promise<void> | undefined,
): Service[] {
  const taking = { name: "takeover", start: takeOver, stop() {} };
  const telling = { name: "processes", start: () => member.look(), stop() {} };
  return [...counters, member, taking, server, telling];
}

type JoinOptions = AppOptions & { installationId: string };
type HandoverSite = Site & { services: JoinedServices; agents: AgentService; models: Models };

interface JoinedLimits {
  limits: LimiterGroup;
  /** Counters of all processes; empty where this one counts alone. */
  counters: readonly SharedCounters[];
}

async function openLimits(
  { settings, clock, log, installationId: installation }: JoinOptions,
  site: Omit<Site, "member" | keyof JoinedLimits> & { agents: AgentService; models: Models },
): Promise<JoinedLimits> {
  const { database, process, routers, gateway, operators, agents, models } = site;
  const own = { ...routers.limiters, operators: operators.limiter };
  const limits = new LimiterGroup({ ...own, ...gateway.limiters, ...agents.limiters });
  const shared = { limits, capacities: gateway.capacities, modelSlots: models.sharedSlots };
  const deps = { url: settings.server.valkey, installation, database, process, clock, log };
  return { limits, counters: await shareCounters({ ...deps, ...shared }) };
}

function openHandover(
  { clock, predecessor = null, installationId: installation }: JoinOptions,
  site: HandoverSite,
): Handover {
  const { database, server, process, services, operators, gateway, models, agents, limits } = site;
  const endStreams = () => {
    agents.endStreams();
    operators.endStreams();
  };
  return createHandover({
    ...{ clock, database, services, process, server, predecessor, installation, endStreams },
    limits,
    slots: gateway.capacities,
    keepServers: (isKept) => models.keepServers(isKept),
    retire: (...until) => waitForClients(server, { clock, endStreams }, ...until),
    settle: (until) => gateway.inherit(until),
  });
}

/** Addresses that strangers name need the guarded client. */
function openGuarded({ clock }: AppOptions, { fence }: Process, settings: () => Settings) {
  return new GuardedEgress({ clock, fence, allow: () => settings().egress.allow });
}

function openBase(options: AppOptions, database: Database) {
  const { settings, clock, ids } = options;
  const uses = new KeyUses({ ...options, database });
  const { alias } = settings.service;
  const access = buildAccess({ database, clock, ids, alias, noteUse: uses.note });
  const process = new Process({ ...options, database });
  const shared = database.isShared ? process : null;
  return { access, first: [uses, process], process, shared };
}

/** Describes failures of a disk or a server by a sentence, and bugs by their stack. */
function describeFailure(failure: unknown): unknown {
  return failure instanceof DatabaseUnusable ? failure.message : failure;
}

function createServer(options: AppOptions, current: () => Settings, running: InFlight): HttpServer {
  const { clock, ids, log } = options;
  const origins = {
    isLocalOnly: options.isLocalOnly === true,
    publicUrl: () => current().server.public_url,
    corsOrigins: () => current().server.cors_origins,
  };
  const endRequests = () => running.end();
  const { server, operator } = current();
  const operatorListen = operator.listen;
  const shared = options.predecessor?.addresses;
  options.predecessor?.requirePort(server.port);
  return new HttpServer({
    ...server,
    operatorListen,
    shared,
    isCommon: options.isCommon,
    origins,
    endRequests,
    clock,
    ids,
    log,
  });
}

interface Site extends JoinedLimits {
  database: Database;
  server: HttpServer;
  routers: Routers;
  registry: ModelRegistry;
  gateway: Gateway;
  checks: PageChecks;
  operators: OperatorService;
  member: Membership;
  process: Process;
  current(): Settings;
}

function openSite(options: AppOptions, site: Site, others: readonly StaticPage[]): void {
  const { database, server, registry, gateway, checks, current, member, process, counters } = site;
  const { clock, version, writeCommands = async () => "" } = options;
  const health = createHealthPages({
    clock,
    isReady: () => database.probe().then(() => !process.isSkewed && registry.isDefaultServable()),
    isLeaving: () => server.isStopping || member.isDraining,
    listServices: () => [
      ...[...gateway.listStatuses(), ...checks.listStatuses()],
      ...counters.map((one) => one.status()),
      ...(member.doSettingsDiffer ? [{ name: "settings", state: "differ" as const }] : []),
    ],
  });
  const publicUrl = () => current().server.public_url;
  const routers = [site.routers.gateway, site.routers.agents];
  const document = createDocumentPage({ routers, version, events: EVENTS });
  const docs = createDocsPages({
    version,
    writeCommands,
    // Written at the first request: formatting a date loads 4 MB of ICU's tables.
    writeChanges: () => writeChanges(current().service.alias),
    publicUrl,
    hasConsole: () => current().operator.enabled && current().operator.listen === "",
    readApi: async () => (await document.answer()).json() as Promise<object>,
    readOperatorApi: () => site.operators.writeDocument(),
  });
  const page = createConsoleRoutes({
    isEnabled: () => current().operator.enabled,
    own: site.operators.own,
  });
  const pages = [...others, ...health, ...docs, document, consoleRedirect];
  server.open(routers, pages, () => [...site.operators.listRoutes(), ...page]);
}

type AgentServiceDeps = Omit<Parameters<typeof createAgents>[1], "disk" | "alias"> &
  Pick<AppOptions, "place"> & { process: Process; tracer: Tracer | undefined };

type AgentService = ReturnType<typeof createAgentService>;

/** Wires agents, triggers and webhooks. */
function createAgentService(router: Router, given: AgentServiceDeps) {
  const freeMin = () => given.settings().limits.free_disk_bytes;
  const disk = new DiskSpace(given.place, given.clock, freeMin);
  const deps = { ...given, disk, alias: given.settings().service.alias };
  const agents = createAgents(router, deps, given.tracer);
  const { prepareRun, pages, listening, drain, endStreams, countStreams, readLive } = agents;
  const triggers = createTriggersModule(router, { ...deps, prepareRun });
  const webhooks = openWebhooks(router, deps);
  const show = (metrics: Metrics) => {
    disk.show(metrics, given.database);
    agents.show(metrics);
    triggers.show(metrics);
    webhooks.show(metrics);
  };
  // Services stop in reverse: webhooks still send the events of runs that end.
  const services = [...webhooks.services, ...agents.services, ...triggers.services];
  const { limiters } = triggers;
  const { change } = webhooks;
  const streams = { endStreams, countStreams, readLive };
  return { services, limiters, pages, listening, drain, ...streams, change, show };
}
