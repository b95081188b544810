// What a key may ask of a model: the refusals of both, for requests as for rounds of a run.
import type { Caller, Scope } from "../../access/index.ts";
import type { ModelAccess, NamedModel, ServedModel } from "../../models/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";

/** How a model was named: by its id, or the default one by the alias or an unknown id. */
export type NamedBy = NamedModel["by"];

/** What is wanted beyond plain text. */
export interface RequestedFeatures {
  messages: readonly { content?: string | readonly { type: string }[] | null }[];
  /** Left out or empty: none. */
  tools?: readonly unknown[];
  reasoning?: boolean | null;
  think?: boolean | null;
}

const REFUSALS: Record<Exclude<ModelAccess, "allowed">, (by: NamedBy) => ApiError> = {
  // gateway.errors.model_not_found
  hidden: () => apiError("model_not_found", { param: "model" }),
  // gateway.authentication.7, gateway.errors.model_not_permitted
  refused: () => apiError("model_not_permitted", { param: "model" }),
  // gateway.endpoints.chat_completions.7
  unscoped: () => refuseScope("think", "model"),
  off: (by) => unavailableError("model_offline", by),
  blocked: (by) => unavailableError("model_unavailable", by),
};

/** The refusal that a judgement of the registry is; undefined: the model may be called. */
export function modelAccessError(judgement: ModelAccess, by: NamedBy): ApiError | undefined {
  return judgement === "allowed" ? undefined : REFUSALS[judgement](by);
}

/**
 * gateway.states.p2, gateway.errors.model_offline, gateway.errors.model_unavailable: who named the
 * model is told what it is. gateway.states.p3, gateway.errors.no_model_available: who did not is
 * told of no model.
 */
export function unavailableError(
  code: "model_offline" | "model_unavailable",
  by: NamedBy,
): ApiError {
  return apiError(by === "id" ? code : "no_model_available");
}

function refuseScope(scope: Scope, param: string): ApiError {
  return apiError("scope_required", { param, message: `This needs the scope ${scope}.` });
}

/** First the key's scopes, then what the model can do; throws the refusal. */
export function requireFeatures(
  mode: RequestedFeatures,
  { settings }: ServedModel,
  caller: Caller,
): void {
  const lacks = (param: string, what: string) =>
    apiError("validation", { param, message: `The model ${settings.id} has no ${what}.` });
  // gateway.authentication.4, gateway.endpoints.chat_completions.1, gateway.errors.scope_required
  if (mode.reasoning && !caller.scopes.includes("reasoning")) {
    throw refuseScope("reasoning", "reasoning");
  }
  if (mode.think && !caller.scopes.includes("think")) throw refuseScope("think", "think");
  if (mode.tools?.length && !settings.capabilities.includes("tools")) {
    throw lacks("tools", "capability `tools`");
  }
  if (mode.reasoning && !settings.capabilities.includes("reasoning")) {
    throw lacks("reasoning", "capability `reasoning`");
  }
  const image = settings.capabilities.includes("vision") ? null : findImage(mode.messages);
  if (image) throw lacks(image, "capability `vision`");
}

/** The path of the first image; null: there is none. */
function findImage(messages: RequestedFeatures["messages"]): string | null {
  for (let i = 0; i < messages.length; i++) {
    const { content } = messages[i]!;
    if (!Array.isArray(content)) continue;
    const part = content.findIndex(({ type }) => type === "image_url");
    if (part !== -1) return `messages.${i}.content.${part}`;
  }
  return null;
}
