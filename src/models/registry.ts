// Every model of the settings by its id, the alias of the default one, and who may call which.
import type { Caller } from "../access/index.ts";
import type { Bound } from "../platform/database/index.ts";
import { capOutput, type Model, type ServedModel } from "./model.ts";
import { judgePermission, needsGrant, type Verdict } from "./permission.ts";
import type { modelStore } from "./store.ts";

export interface RegistryOptions {
  alias: string;
  default_model: string;
  models: readonly ServedModel[];
  store: Pick<Bound<typeof modelStore>, "listGrants">;
}

/** What a request's `model` names. */
export type Named =
  | { model: ServedModel; by: "id" | "alias" }
  /** gateway.versioning.3: an id that nobody knows. */
  | { model: ServedModel; by: "unknown" };

export function createRegistry({ alias, default_model, models, store }: RegistryOptions) {
  const by_id = new Map(models.map((model) => [model.settings.id, model]));
  const fallback = by_id.get(default_model);
  if (!fallback) throw new Error(`the default model ${default_model} is not among the models`);
  // The alias with `-v0` is a second permanent name; it is accepted and not listed.
  const aliases = new Set([alias, `${alias}-v0`]);

  /** Ids of the models granted to the caller's account; looked up only where one could matter. */
  const findGrants = async (
    asked: readonly ServedModel[],
    { account_id }: Caller,
  ): Promise<readonly string[]> => {
    if (account_id === null || !asked.some(({ settings }) => needsGrant(settings))) return [];
    return store.listGrants(account_id);
  };
  const judge = async (model: ServedModel, caller: Caller): Promise<Verdict> => {
    const grants = await findGrants([model], caller);
    return judgePermission(model.settings, caller, grants.includes(model.settings.id));
  };
  return {
    alias,
    /** gateway.does.4: no name and the alias mean the default model. */
    name(sent: string | undefined): Named {
      if (sent === undefined || aliases.has(sent)) return { model: fallback, by: "alias" };
      const model = by_id.get(sent);
      return model ? { model, by: "id" } : { model: fallback, by: "unknown" };
    },
    judge,
    /** gateway.resources.model.p2: exactly what a key may call, the default model first. */
    async list(caller: Caller): Promise<Model[]> {
      const grants = await findGrants(models, caller);
      const others = models.filter((model) => model !== fallback);
      return [fallback, ...others].flatMap((model) => {
        const { id, think } = model.settings;
        if (judgePermission(model.settings, caller, grants.includes(id)) !== "allowed") return [];
        // gateway.endpoints.chat_completions.7: such a model can be called with the scope only.
        if (think === "required" && !caller.scopes.has("think")) return [];
        const row = showModel(model, caller);
        // gateway.resources.model.p3, gateway.resources.model.p4
        return model === fallback ? [{ ...row, id: alias }, row] : [row];
      });
    },
  };
}
export type ModelRegistry = ReturnType<typeof createRegistry>;

function showModel({ settings, created, upstream_revision }: ServedModel, caller: Caller): Model {
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
    status: "on",
  };
}
