// Models: from the settings to what can be called, by whom, and what answers.
import type { Database } from "../database/index.ts";
import type { Service } from "../platform/service.ts";
import type { ModelSettings, Settings } from "../settings/index.ts";
import { ManagedServers } from "./autostart/managed-servers.ts";
import { type Backend, type BackendOptions, type OpenBackend, openBackend } from "./backend.ts";
import type { ServedModel } from "./model.ts";
import { createRegistry, type ModelRegistry } from "./registry.ts";
import { modelStore } from "./store.ts";

export {
  createManagedServerStatuses,
  type ManagedServerStatus,
} from "./autostart/managed-servers.ts";
export { isServerUp } from "./autostart/start-plan.ts";
export type { OpenBackend } from "./backend.ts";
export { type CountTexts, createTextCount } from "./bundled-tokenizer/task.ts";
export { costOf } from "./cost.ts";
export { createGrants } from "./grants.ts";
export { showModels } from "./metrics.ts";
export { capOutput, type ServedModel } from "./model.ts";
export { needsGrant } from "./permission.ts";
export { type ProbeReport, probeServer, type ServerProbe } from "./probe/probe.ts";
export { checkReplica, type ReplicaCheck } from "./probe/replica.ts";
export { fetchText, parseObject } from "./providers/body.ts";
export type * from "./providers/contract.ts";
export { classifyError, connectionError, timeoutError } from "./providers/openai/errors.ts";
export { rootOf, writeHeaders, writeRequestHeaders } from "./providers/openai/request.ts";
export type { ModelAccess, ModelRegistry, NamedModel } from "./registry.ts";
export { createHealthCheck, isWatched, nameHealth } from "./replicas/health.ts";
export { Replicas } from "./replicas/replicas.ts";
export { openModelRoutes } from "./routes.ts";
export type { ModelStatus } from "./store.ts";
export {
  createSwitches,
  type ModelState,
  type ModelSwitch,
  stateOf,
} from "./switches.ts";
export { countImages, estimateTokens, listTexts, splitTokens } from "./tokens.ts";

/** Loaded only to record. */
export const loadRecorder = () => import("./recording/recorder.ts");
/** Loaded only to replay. */
export const loadReplay = () => import("./recording/replay.ts");

export interface ModelsOptions extends Omit<BackendOptions, "units"> {
  settings: Settings;
  database: Database;
  /** Left out: as the settings say. */
  open?: OpenBackend;
}

export interface Models {
  registry: ModelRegistry;
  /** Watches the servers of every model, those of later settings too. */
  service: Service;
  /** Serves what other settings say from the next request on; one change at a time. */
  change(settings: Settings): Promise<void>;
}

/** Opens every model of the settings, and notes in the database those seen for the first time. */
export async function buildModels({ open = openBackend, ...options }: ModelsOptions) {
  const { settings, database, ...rest } = options;
  const store = database.bind(modelStore);
  const around = { ...rest, units: new ManagedServers({ ...rest, database }) };
  let isStarted = false;
  const read = async ({ models, service }: Settings, before: readonly ServedModel[]) => {
    const ids = models.map((model) => model.id);
    const seen = new Map((await store.list(null)).map((row) => [row.id, row.first_seen_at]));
    if (ids.some((id) => !seen.has(id))) {
      const now = around.clock.now();
      await store.see(ids, now);
      for (const id of ids) if (!seen.has(id)) seen.set(id, now);
    }
    const served = models.map(
      (model): ServedModel => ({
        settings: model,
        created: Math.floor(seen.get(model.id)! / 1000),
        upstream_revision: model.self_hosted ? null : fingerprint(model),
        backend: findSupply(model, before) ?? open(model, around),
      }),
    );
    return { models: served, default_model: service.default_model };
  };
  let offer = await read(settings, []);
  const registry = createRegistry({ alias: settings.service.alias, offer, store });

  const models: Models = {
    registry,
    service: {
      name: "models",
      start() {
        isStarted = true;
        for (const { backend: supply } of offer.models) supply.start();
      },
      stop() {
        isStarted = false;
        for (const { backend: supply } of offer.models) supply.stop();
      },
    },
    async change(settings) {
      const before = offer.models;
      offer = await read(settings, before);
      registry.offer(offer);
      const supplies = (served: readonly ServedModel[]) =>
        new Set(served.map((one) => one.backend));
      if (!isStarted) return;
      for (const supply of supplies(offer.models).difference(supplies(before))) supply.start();
      for (const supply of supplies(before).difference(supplies(offer.models))) supply.stop();
    },
  };
  return models;
}

/** What stands behind a model keeps what it knows for as long as nothing of it changes. */
function findSupply(model: ModelSettings, before: readonly ServedModel[]): Backend | undefined {
  const essence = ({ id, self_hosted, capabilities, upstream }: ModelSettings) => {
    return { id, self_hosted, capabilities, upstream };
  };
  const same = before.find(({ settings }) => Bun.deepEquals(essence(settings), essence(model)));
  return same?.backend;
}

/** gateway.resources.model.upstream_revision: it changes when the model is routed elsewhere. */
function fingerprint({ upstream }: ModelSettings): string {
  const party =
    upstream.kind === "openai"
      ? [upstream.kind, [...upstream.urls].sort(), upstream.model]
      : [upstream.kind];
  return Bun.SHA256.hash(JSON.stringify(party), "hex") as string;
}
