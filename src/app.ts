// The composition root: builds all modules in order and joins them.
import { type Access, buildAccess } from "./access/index.ts";
import { type Admin, buildAdmin, listSweeps } from "./admin/index.ts";
import { Approval, createAgents, Run, registerRunMetrics } from "./agents/index.ts";
import { type Activity, Process, UNWATCHED } from "./cluster/index.ts";
import { ComputePool, type ComputeService } from "./compute/index.ts";
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
import {
  createGateway,
  InFlight,
  showRequests,
  showShared,
  writeChanges,
} from "./gateway/index.ts";
import {
  createDocumentPage,
  createHealthPages,
  createMetricsPage,
  createRouters,
  HttpServer,
  observeRequests,
  type Router,
  type ServiceHealth,
} from "./http/index.ts";
import { buildModels, type OpenBackend, openModelRoutes, showModels } from "./models/index.ts";
import { createGuardedEgress, createTrustedEgress } from "./net/index.ts";
import type { Clock } from "./platform/clock.ts";
import type { Ids } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import { type Metrics, openMetrics, registerProcessMetrics } from "./platform/metrics.ts";
import { joinServices, type Service, type Services } from "./platform/service.ts";
import { Sweeper } from "./retention/index.ts";
import type { Settings } from "./settings/index.ts";
import { DiskSpace } from "./storage/index.ts";
import { stores } from "./stores.ts";
import { createTriggersModule, Fire, TriggerName } from "./triggers/index.ts";
import { documentEvents, openWebhooks, registerWebhookMetrics } from "./webhooks/index.ts";

/** Workers' scripts: only from here their addresses hold both from source and in the binary. */
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
  /** File of the secrets key; without one the key lasts as long as the app. */
  secrets_key_file: string | null;
  /** Computes what could block the event loop; Workers by default. */
  compute?: ComputeService;
  /** Opens the backends of models; by the settings by default. */
  openSupply?: OpenBackend;
  /** Serves a database even if committed data is missing. */
  accepts_loss?: boolean;
  /** /metrics needs no token. */
  has_open_metrics?: boolean;
  /** Answers only names of this machine, since everybody knows the keys. */
  is_local_only?: boolean;
  activity?: Activity;
  writeCommands?(): Promise<string>;
  /** Called when nothing can be stored any more and the process must end. */
  onFatal(failure: unknown): void;
}

export interface App extends Services {
  database: Database;
  access: Access;
  /** Follows the settings in force: read it anew each time. */
  readonly admin: Admin;
  entrance: HttpServer;
  /**
   * Applies other settings from the next request on; when it rejects, nothing has changed. Call it
   * once at a time, and only with changes that need no restart.
   */
  change(settings: Settings): Promise<void>;
}

/** agents.events.webhook.4: the events that the agent service sends. */
const EVENTS = documentEvents({
  "run.completed": { run: Run },
  "run.failed": { run: Run },
  "approval.requested": { approval: Approval },
  "approval.decided": { approval: Approval },
  "trigger.fired": { trigger: TriggerName, fire: Fire },
});

/** Builds all modules on a database; nothing listens before the start. */
export async function buildApp(given: AppOptions): Promise<App> {
  const options = { ...given, log: omitUnavailable(given.log) };
  const { place, clock, log } = options;
  const database = await openDatabase({
    place,
    stores,
    clock,
    exclusive: true,
    acceptLoss: options.accepts_loss
      ? (what) => log.warn("the start goes on without what is missing", { error: what })
      : undefined,
    onFailure(failure, isFatal) {
      log.error("the database failed", { error: describeFailure(failure) });
      if (isFatal) options.onFatal(failure);
    },
    onRecovery: () => log.info("the database works again"),
  });
  try {
    return await joinModules(options, database);
  } catch (failure) {
    await database.close();
    throw failure;
  }
}

async function joinModules(options: AppOptions, database: Database): Promise<App> {
  const { clock, ids, log, onFatal, activity = UNWATCHED } = options;
  let { settings } = options;
  const { alias } = settings.service;
  const egress = createTrustedEgress({ clock, log });
  const { compute = new ComputePool({ script: COMPUTE, clock, log }) } = options;
  // Addresses that strangers name need the guarded client.
  const guarded = createGuardedEgress({ clock, allow: () => settings.egress.allow });
  const access = buildAccess({ database, clock, ids, alias });
  const running = new InFlight();
  const origins = chooseOrigins(options, () => settings.server);
  const listening = { ...settings.server, origins, endRunning: () => running.end() };
  const entrance = new HttpServer({ ...listening, clock, ids, log });
  const figures = await openFigures(options);
  const observe = figures && observeRequests(figures.metrics);
  const { identify } = access;
  const doors = createRouters({ settings, identify, entrance, clock, ids, log, observe });
  const { gateway, agents } = doors;

  const ways = { egress, compute, open: options.openSupply };
  const around = { settings, database, ...ways, clock, ids, log, onFatal };
  const models = await buildModels(around);
  const { registry } = models;
  openModelRoutes(gateway, registry);
  const secrets = createSecrets({ database, file: options.secrets_key_file, clock, log });
  const hashUser = (await secrets.openHashes())("users in the log");
  const { requestLog, ...serving } = createGateway(gateway, {
    ...{ ...around, registry, running, hashUser, findCaller: access.findCaller },
  });
  const { inside } = serving;
  const { place } = options;
  const now = { settings: () => settings, egress: guarded, activity, inside, place };
  const service = openAgentHalf(agents, { ...around, ...now, access, alias, secrets });

  const isReady = () => database.probe().then(() => registry.isDefaultServable());
  const health = openHealth(options, { isReady, entrance, look: serving.look });
  figures?.show({ registry, requestLog, look: serving.look, service });
  const halves = [gateway, agents];
  entrance.open(halves, [
    ...(figures?.pages ?? []),
    ...health.pages,
    ...openDocs(options, () => settings),
    createDocumentPage(entrance.app, { doors: halves, version: options.version, events: EVENTS }),
  ]);

  let admin = buildAdmin({ settings, access, database, clock, ids, secrets });
  const services = joinServices([
    ...[await openSweeper({ ...around, ...now }), compute, models.service, ...serving.services],
    ...[...service.services, health.checks, entrance, ...service.listening],
  ]);
  return {
    database,
    access,
    get admin() {
      return admin;
    },
    entrance,
    async change(other) {
      // Only this can fail, and it does so before it changes anything.
      await models.change(other);
      settings = other;
      doors.change(other);
      serving.change(other);
      service.change();
      admin = buildAdmin({ settings, access, database, clock, ids, secrets });
    },
    start: services.start,
    /** Sockets end first. What was opened by the build is closed even without a start. */
    async stop(deadline_ms) {
      service.drain();
      try {
        await services.stop(deadline_ms);
      } finally {
        for (const way of [egress, guarded]) way.close();
        await database.close();
      }
    },
  };
}

async function openSweeper(
  around: Parameters<typeof listSweeps>[0] & Pick<AppOptions, "clock" | "log">,
): Promise<Service> {
  return new Sweeper({ ...around, sweeps: await listSweeps(around) });
}

/** Describes failures of a disk or a server by a sentence, and bugs by their stack. */
function describeFailure(failure: unknown): unknown {
  return failure instanceof DatabaseUnusable ? failure.message : failure;
}

function openHealth(
  options: AppOptions,
  around: { isReady(): Promise<boolean>; entrance: HttpServer; look(): ServiceHealth[] },
) {
  const { isReady, entrance, look } = around;
  const isStopping = () => entrance.isStopping;
  const checks = new PageChecks(options);
  const listBeside = () => [...look(), ...checks.look()];
  const { clock } = options;
  return { checks, pages: createHealthPages({ clock, isReady, isStopping, listBeside }) };
}

function openDocs({ version, writeCommands = async () => "" }: AppOptions, now: () => Settings) {
  const publicUrl = () => now().server.public_url;
  const changes = writeChanges(now().service.alias);
  return createDocsPages({ version, writeCommands, changes, publicUrl });
}

function chooseOrigins({ is_local_only }: AppOptions, server: () => Settings["server"]) {
  return {
    isLocalOnly: is_local_only === true,
    publicUrl: () => server().public_url,
    corsOrigins: () => server().cors_origins,
  };
}

function openAgentHalf(
  door: Router,
  given: Omit<Parameters<typeof createAgents>[1], "process" | "disk"> &
    Pick<AppOptions, "onFatal" | "place">,
) {
  const process = new Process(given);
  const freeMin = () => given.settings().limits.free_disk_bytes;
  const disk = new DiskSpace(given.place, given.clock, freeMin);
  const around = { ...given, disk };
  const agents = createAgents(door, { ...around, process });
  const { prepareRun, listening, drain } = agents;
  const triggers = createTriggersModule(door, { ...around, prepareRun });
  const webhooks = openWebhooks(door, { ...around, process });
  const show = (metrics: Metrics) => {
    disk.show(metrics);
    registerRunMetrics(metrics, agents.stats);
    registerWebhookMetrics(metrics, webhooks.stats);
  };
  // Services stop in reverse: webhooks still send the events of runs that end.
  const services = [process, ...webhooks.services, ...agents.services, ...triggers.services];
  return { services, listening, drain, change: webhooks.change, show };
}

/** Opens no metrics unless somebody may read them. */
async function openFigures({ settings, has_open_metrics, clock }: AppOptions) {
  const { metrics_token } = settings.server;
  if (!has_open_metrics && metrics_token === null) return null;
  const metrics = await openMetrics();
  registerProcessMetrics(metrics, clock.now());
  return {
    metrics,
    pages: [createMetricsPage(metrics, has_open_metrics ? null : metrics_token)],
    show({ registry, requestLog, look, service }: Shown) {
      showModels(metrics, registry);
      showRequests(metrics, requestLog);
      showShared(metrics, look);
      service.show(metrics);
    },
  };
}

interface Shown extends Pick<ReturnType<typeof createGateway>, "requestLog" | "look"> {
  registry: Parameters<typeof showModels>[1];
  service: { show(metrics: Metrics): void };
}
