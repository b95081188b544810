// Every model of the settings by its id, the alias of the default one, and who may call which.
import type { Caller } from "../access/index.ts";
import type { Bound } from "../database/index.ts";
import { listAliases } from "../settings/index.ts";
import { capOutput, type Model, type ServedModel } from "./model.ts";
import { authorizeModel, type ModelPermission } from "./permission.ts";
import type { ModelStatus, modelStore } from "./store.ts";
import { type ModelState, stateOf } from "./switches.ts";

/** What is served: the models in the order of the settings, and the default one's id. */
export interface ModelOffer {
  models: readonly ServedModel[];
  default_model: string;
}

export interface RegistryOptions {
  alias: string;
  offer: ModelOffer;
  /** Looked at for every request: what the command line changes counts at once. */
  store: Pick<Bound<typeof modelStore>, "find" | "list">;
}

/** What becomes of a call: what the key may, and then what the operator switched. */
export type ModelAccess = ModelPermission | Exclude<ModelState, "on">;

/** What a request's `model` names. */
export type NamedModel =
  | { model: ServedModel; by: "id" | "alias" }
  /** gateway.versioning.3: an id that nobody knows. */
  | { model: ServedModel; by: "unknown" };

export function createRegistry({ alias, offer, store }: RegistryOptions) {
  const aliases = listAliases(alias);
  let { models, byId, fallback } = arrange(offer);

  return {
    alias,
    /** Other settings, in force from the next request on. */
    offer(other: ModelOffer): void {
      ({ models, byId, fallback } = arrange(other));
    },
    /** In the order of the settings. */
    served: (): readonly ServedModel[] => models,
    /** gateway.does.4: no name and the alias mean the default model. */
    name(sent: string | undefined): NamedModel {
      if (sent === undefined || aliases.includes(sent)) return { model: fallback, by: "alias" };
      const model = byId.get(sent);
      return model ? { model, by: "id" } : { model: fallback, by: "unknown" };
    },
    async judge(model: ServedModel, caller: Caller): Promise<ModelAccess> {
      return judge(model, caller, await store.find(model.settings.id, caller.account_id));
    },
    /** False: whoever names no model is refused, so that a balancer had better ask elsewhere. */
    async isDefaultServable(): Promise<boolean> {
      const { settings, backend: supply } = fallback;
      const standing = await store.find(settings.id, null);
      return standing !== undefined && stateOf(standing) === "on" && !supply.isDown();
    },
    /** gateway.resources.model.p2: exactly what a key may call, the default model first. */
    async list(caller: Caller): Promise<Model[]> {
      const standings = await store.list(caller.account_id);
      const found = new Map(standings.map((standing) => [standing.id, standing]));
      const others = models.filter((model) => model !== fallback);
      return [fallback, ...others].flatMap((model) => {
        const judgement = judge(model, caller, found.get(model.settings.id));
        // A model that is off is stopped and may come back; a blocked one is not there to callers.
        if (judgement !== "allowed" && judgement !== "off") return [];
        const row = showModel(model, caller, judgement === "off" ? "offline" : "on");
        // gateway.resources.model.p3, gateway.resources.model.p4
        return model === fallback ? [{ ...row, id: alias }, row] : [row];
      });
    },
  };
}
export type ModelRegistry = ReturnType<typeof createRegistry>;

function arrange({ models, default_model }: ModelOffer) {
  const byId = new Map(models.map((model) => [model.settings.id, model]));
  const fallback = byId.get(default_model);
  if (!fallback) throw new Error(`the default model ${default_model} is not among the models`);
  return { models, byId, fallback };
}

/**
 * What the key may comes before the state: whoever may not call a model does not learn whether it
 * runs, and is not sent into retries that can never succeed.
 */
function judge(
  { settings, backend: supply }: ServedModel,
  caller: Caller,
  standing: ModelStatus | undefined,
): ModelAccess {
  if (!standing) throw new Error(`the model ${settings.id} was not noted when the server started`);
  const verdict = authorizeModel(settings, caller, standing.is_granted);
  if (verdict !== "allowed") return verdict;
  const state = stateOf(standing);
  if (state !== "on") return state;
  // Whether a person switched it off or its servers are gone is the same to callers.
  return supply.isDown() ? "off" : "allowed";
}

function showModel(
  { settings, created, upstream_revision }: ServedModel,
  caller: Caller,
  status: Model["status"],
): Model {
  const max_output_tokens = capOutput(settings, caller.max_output_tokens);
  return {
    id: settings.id,
    object: "model",
    created,
    owned_by: settings.provider,
    provider: settings.provider,
    self_hosted: settings.self_hosted,
    upstream_revision,
    context_window: settings.context_window,
    max_output_tokens,
    default_max_tokens: Math.min(settings.default_max_tokens, max_output_tokens),
    capabilities: [...settings.capabilities],
    status,
  };
}
