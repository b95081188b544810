// Models: from the settings to what can be called, by whom, and what answers.
import type { Database } from "../platform/database/index.ts";
import type { Service } from "../platform/service.ts";
import type { ModelSettings, Settings } from "../platform/settings/index.ts";
import type { ServedModel } from "./model.ts";
import { createRegistry, type ModelRegistry } from "./registry.ts";
import { modelStore } from "./store.ts";
import { type OpenSupply, openSupply, type Supply, type SupplyOptions } from "./supply.ts";
import { createUnits } from "./unit/units.ts";

export { type CountTexts, createTextCount } from "./bundled-tokenizer/task.ts";
export { costOf } from "./cost.ts";
export { showModels } from "./figures.ts";
export { createGrants, type Grants } from "./grants.ts";
export { capOutput, type ServedModel } from "./model.ts";
export { needsGrant } from "./permission.ts";
export { type Probed, probeServer, type Report } from "./probing/probe.ts";
export { checkReplica, type ReplicaSight } from "./probing/replica.ts";
export type { Judgement, ModelRegistry, Named } from "./registry.ts";
export { createLook, isWatched, nameHealth } from "./replicas/health.ts";
export { joinReplicas } from "./replicas/replicas.ts";
export { openModelRoutes } from "./routes.ts";
export type { Standing } from "./store.ts";
export type { OpenSupply } from "./supply.ts";
export { createSwitches, type State, type Switches, stateOf, type Turn } from "./switches.ts";
export { countImages, estimateTokens, listTexts, splitTokens } from "./tokens.ts";
export { isUnitUp } from "./unit/actions.ts";
export { createUnitStandings, type UnitStanding, type UnitStandings } from "./unit/standings.ts";
export { rootOf } from "./upstream/address.ts";
export { parseObject } from "./upstream/body.ts";
export type * from "./upstream/contract.ts";
export { explainBreak, explainCut, judgeError } from "./upstream/openai-failure.ts";
export { writeHeaders, writeRequestHeaders } from "./upstream/openai-request.ts";
export { askWhole } from "./upstream/whole.ts";

/** Loaded by who records or plays only. */
export const loadRecording = () => import("./recording/index.ts");

export interface ModelsOptions extends Omit<SupplyOptions, "units"> {
  settings: Settings;
  database: Database;
  /** Left out: as the settings say. */
  open?: OpenSupply;
}

export interface Models {
  registry: ModelRegistry;
  /** Watches the servers of every model, those of later settings too. */
  service: Service;
  /** Serves what other settings say from the next request on; one change at a time. */
  change(settings: Settings): Promise<void>;
}

/** Opens every model of the settings, and notes in the database those seen for the first time. */
export async function buildModels({ open = openSupply, ...options }: ModelsOptions) {
  const { settings, database, ...rest } = options;
  const store = database.bind(modelStore);
  const around = { ...rest, units: createUnits({ ...rest, database }) };
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
        supply: findSupply(model, before) ?? open(model, around),
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
        for (const { supply } of offer.models) supply.start();
      },
      stop() {
        isStarted = false;
        for (const { supply } of offer.models) supply.stop();
      },
    },
    async change(settings) {
      const before = offer.models;
      offer = await read(settings, before);
      registry.offer(offer);
      const supplies = (served: readonly ServedModel[]) => new Set(served.map((one) => one.supply));
      if (!isStarted) return;
      for (const supply of supplies(offer.models).difference(supplies(before))) supply.start();
      for (const supply of supplies(before).difference(supplies(offer.models))) supply.stop();
    },
  };
  return models;
}

/** What stands behind a model keeps what it knows for as long as nothing of it changes. */
function findSupply(model: ModelSettings, before: readonly ServedModel[]): Supply | undefined {
  const essence = ({ id, self_hosted, capabilities, upstream }: ModelSettings) => {
    return { id, self_hosted, capabilities, upstream };
  };
  const same = before.find(({ settings }) => Bun.deepEquals(essence(settings), essence(model)));
  return same?.supply;
}

/** gateway.resources.model.upstream_revision: it changes when the model is routed elsewhere. */
function fingerprint({ upstream }: ModelSettings): string {
  const party =
    upstream.kind === "openai"
      ? [upstream.kind, [...upstream.urls].sort(), upstream.model]
      : [upstream.kind];
  return Bun.SHA256.hash(JSON.stringify(party), "hex") as string;
}
