// Models: which ones are served, who may call them, and their backends.
import type { Bound, Database } from "../database/index.ts";
import type { Service } from "../platform/service.ts";
import type { ModelSettings, Settings } from "../settings/index.ts";
import { ManagedServers } from "./autostart/managed-servers.ts";
import { type Backend, type BackendOptions, type OpenBackend, openBackend } from "./backend.ts";
import type { ServedModel } from "./model.ts";
import { type ModelCatalog, ModelRegistry } from "./registry.ts";
import { SharedSlots } from "./replicas/shared-slots.ts";
import { modelStore } from "./store.ts";

export {
  createManagedServerStatuses,
  type ManagedServerStatus,
} from "./autostart/managed-servers.ts";
export { isServerUp } from "./autostart/start-plan.ts";
export type { OpenBackend } from "./backend.ts";
export { type CountTexts, createTextCount } from "./bundled-tokenizer/task.ts";
export { listModelReplicas, type ServedReplicas, showModels, showReplicas } from "./metrics.ts";
export { chooseOutputCap, costOf, type OutputCap, type ServedModel } from "./model.ts";
export { createGrants, createPermissions, needsGrant } from "./permission.ts";
export { type ProbeReport, probeServer, type ServerProbe } from "./probe/probe.ts";
export { checkReplica, type ReplicaCheck } from "./probe/replica.ts";
export {
  fetchText,
  isGood,
  isRouteAbsent,
  type TextRequest,
} from "./providers/body.ts";
export type * from "./providers/contract.ts";
export { sumTokens } from "./providers/contract.ts";
export {
  classifyError,
  connectionError,
  timeoutError,
  upstreamError,
} from "./providers/openai/errors.ts";
export { rootOf, writeHeaders, writeRequestHeaders } from "./providers/openai/request.ts";
export type { ModelAccess, ModelRegistry, NamedModel } from "./registry.ts";
export { createHealthCheck, isWatched, nameHealth, openReplicaCheck } from "./replicas/health.ts";
export { Replicas, type ReplicasStatus } from "./replicas/replicas.ts";
export { openModelRoutes } from "./routes.ts";
export type { ModelStatus } from "./store.ts";
export {
  createSwitches,
  MODEL_STATES,
  type ModelState,
  type ModelSwitch,
  stateOf,
} from "./switches.ts";
export {
  countFrame,
  countImages,
  countPromptTokens,
  estimateTokens,
  listTexts,
  splitTokens,
} from "./tokens.ts";

/** Loaded only when used. */
export const loadRecorder = () => import("./recording/recorder.ts");
export const loadReplay = () => import("./recording/replay.ts");

export interface ModelsOptions extends Omit<BackendOptions, "units" | "sharedSlots"> {
  settings: Settings;
  database: Database;
  /** Opens backends in place of the settings' own, as for replays. */
  open?: OpenBackend;
}

export async function buildModels(options: ModelsOptions): Promise<Models> {
  const catalogs = new ModelCatalogs(options);
  const { settings, clock } = options;
  const catalog = await catalogs.open(settings, []);
  const { alias } = settings.service;
  return new Models(catalogs, new ModelRegistry({ alias, catalog, store: catalogs.store, clock }));
}

export class Models {
  readonly registry: ModelRegistry;
  readonly service: Service = {
    name: "models",
    start: () => this.#start(),
    stop: () => this.#stop(),
  };
  readonly sharedSlots: SharedSlots;
  readonly #catalogs: ModelCatalogs;
  #isStarted = false;

  constructor(catalogs: ModelCatalogs, registry: ModelRegistry) {
    this.#catalogs = catalogs;
    this.sharedSlots = catalogs.sharedSlots;
    this.registry = registry;
  }

  /** Stops no idle model server while another process may use it. */
  keepServers(isKept: boolean): void {
    this.#catalogs.units.keep(isKept);
  }

  /** Serves other settings from the next request on; one change at a time. */
  async change(settings: Settings): Promise<void> {
    const before = this.#backends();
    this.registry.replace(await this.#catalogs.open(settings, this.registry.models));
    const after = this.#backends();
    if (!this.#isStarted) return;
    for (const backend of after.difference(before)) backend.start();
    for (const backend of before.difference(after)) backend.stop();
  }

  #start(): void {
    this.#isStarted = true;
    for (const backend of this.#backends()) backend.start();
  }

  #stop(): void {
    this.#isStarted = false;
    for (const backend of this.#backends()) backend.stop();
  }

  #backends(): Set<Backend> {
    return new Set(this.registry.models.map(({ backend }) => backend));
  }
}

class ModelCatalogs {
  readonly store: Bound<typeof modelStore>;
  readonly units: ManagedServers;
  readonly sharedSlots: SharedSlots;
  readonly #open: OpenBackend;
  readonly #options: BackendOptions;

  constructor({ open = openBackend, settings: _, database, ...options }: ModelsOptions) {
    this.store = database.bind(modelStore);
    this.#open = open;
    this.units = new ManagedServers({ ...options, database });
    this.sharedSlots = new SharedSlots(options.clock);
    const { units, sharedSlots } = this;
    this.#options = { ...options, units, sharedSlots };
  }

  async open(settings: Settings, before: readonly ServedModel[]): Promise<ModelCatalog> {
    const { models, service } = settings;
    const seenAt = await this.#noteSeen(models.map(({ id }) => id));
    const served = models.map(
      (model): ServedModel => ({
        settings: model,
        created: Math.floor(seenAt.get(model.id)! / 1000),
        upstream_revision: model.self_hosted ? null : fingerprint(model),
        backend: findBackend(model, before) ?? this.#open(model, this.#options),
      }),
    );
    return { models: served, default_model: service.default_model };
  }

  async #noteSeen(ids: string[]): Promise<Map<string, number>> {
    const seenAt = new Map((await this.store.list(null)).map((row) => [row.id, row.first_seen_at]));
    if (ids.every((id) => seenAt.has(id))) return seenAt;
    const now = this.#options.clock.now();
    await this.store.see(ids, now);
    for (const id of ids) if (!seenAt.has(id)) seenAt.set(id, now);
    return seenAt;
  }
}

function findBackend(model: ModelSettings, before: readonly ServedModel[]): Backend | undefined {
  const pick = ({ id, self_hosted, capabilities, upstream }: ModelSettings) => {
    return { id, self_hosted, capabilities, upstream };
  };
  return before.find(({ settings }) => Bun.deepEquals(pick(settings), pick(model)))?.backend;
}

/** gateway.resources.model.upstream_revision: changes when requests go elsewhere. */
function fingerprint({ upstream }: ModelSettings): string {
  const party =
    upstream.kind === "openai"
      ? [upstream.kind, [...upstream.urls].sort(), upstream.model]
      : [upstream.kind];
  return Bun.SHA256.hash(JSON.stringify(party), "hex") as string;
}
