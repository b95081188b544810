// The models that are served, by id and alias, and who may call which.
import { type Caller, findModelState } from "../access/index.ts";
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { listAliases } from "../settings/index.ts";
import { capOutput, type Model, type ServedModel } from "./model.ts";
import { authorizeModel, type ModelPermission } from "./permission.ts";
import type { ModelStatus, modelStore } from "./store.ts";
import { type ModelState, stateOf } from "./switches.ts";

export interface ModelCatalog {
  models: readonly ServedModel[];
  default_model: string;
}

export interface RegistryOptions {
  alias: string;
  catalog: ModelCatalog;
  /** Read for every request, so that changes by the command line hold at once. */
  store: Pick<Bound<typeof modelStore>, "find" | "list">;
  clock: Pick<Clock, "monotonic">;
}

export type ModelAccess = ModelPermission | Exclude<ModelState, "on">;

/** A request's `model`, resolved; `unknown`: gateway.versioning.3. */
export interface NamedModel {
  model: ServedModel;
  by: "id" | "alias" | "unknown";
}

export class ModelRegistry {
  readonly alias: string;
  readonly #aliases: readonly string[];
  readonly #store: RegistryOptions["store"];
  readonly #clock: RegistryOptions["clock"];
  #models: readonly ServedModel[] = [];
  #byId: ReadonlyMap<string, ServedModel> = new Map();
  #default!: ServedModel;

  constructor({ alias, catalog, store, clock }: RegistryOptions) {
    this.alias = alias;
    this.#aliases = listAliases(alias);
    this.#store = store;
    this.#clock = clock;
    this.replace(catalog);
  }

  replace({ models, default_model }: ModelCatalog): void {
    const byId = new Map(models.map((model) => [model.settings.id, model]));
    const found = byId.get(default_model);
    if (!found) throw new Error(`the default model ${default_model} is not among the models`);
    this.#models = models;
    this.#byId = byId;
    this.#default = found;
  }

  get models(): readonly ServedModel[] {
    return this.#models;
  }

  /** gateway.does.4: the alias and no name mean the default model. */
  resolve(name: string | undefined): NamedModel {
    if (name === undefined || this.#aliases.includes(name)) {
      return { model: this.#default, by: "alias" };
    }
    const model = this.#byId.get(name);
    return model ? { model, by: "id" } : { model: this.#default, by: "unknown" };
  }

  async authorize(model: ServedModel, caller: Caller): Promise<ModelAccess> {
    const { id } = model.settings;
    const status =
      findModelState(caller.model_states, id, this.#clock.monotonic()) ??
      (await this.#store.find(id, caller.account_id));
    return authorize(model, caller, status);
  }

  /** Tells a balancer whether requests that name no model are served. */
  async isDefaultServable(): Promise<boolean> {
    const { settings, backend } = this.#default;
    const status = await this.#store.find(settings.id, null);
    return status !== undefined && stateOf(status) === "on" && !backend.isDown();
  }

  /** gateway.resources.model.p2: exactly what a key may call, the default model first. */
  async list(caller: Caller): Promise<Model[]> {
    const statuses = await this.#store.list(caller.account_id);
    const byId = new Map(statuses.map((status) => [status.id, status]));
    const others = this.#models.filter((model) => model !== this.#default);
    return [this.#default, ...others].flatMap((model) => {
      const access = authorize(model, caller, byId.get(model.settings.id));
      // A model that is off may come back; a blocked one does not exist for callers.
      if (access !== "allowed" && access !== "off") return [];
      const row = showModel(model, caller, access === "off" ? "offline" : "on");
      // gateway.resources.model.p3, gateway.resources.model.p4
      return model === this.#default ? [{ ...row, id: this.alias }, row] : [row];
    });
  }
}

/** A caller without permission must not learn a model's state, nor be sent into retries. */
function authorize(
  { settings, backend }: ServedModel,
  caller: Caller,
  status: Pick<ModelStatus, "is_off" | "is_blocked" | "is_granted"> | undefined,
): ModelAccess {
  if (!status) throw new Error(`the model ${settings.id} was not noted when the server started`);
  const permission = authorizeModel(settings, caller, status.is_granted);
  if (permission !== "allowed") return permission;
  const state = stateOf(status);
  if (state !== "on") return state;
  // Callers see no difference between a model switched off and one whose servers are gone.
  return backend.isDown() ? "off" : "allowed";
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
