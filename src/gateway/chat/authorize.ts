// Authorization of a key for a model and its features, for HTTP requests and rounds of runs.
import type { Caller, Scope } from "../../access/index.ts";
import type { ModelAccess, NamedModel, ServedModel } from "../../models/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";

export type NamedBy = NamedModel["by"];

export interface RequestedFeatures {
  messages: readonly { content?: string | readonly { type: string }[] | null }[];
  tools?: readonly unknown[];
  reasoning?: boolean | null;
  think?: boolean | null;
}

const ACCESS_ERRORS: Record<Exclude<ModelAccess, "allowed">, (by: NamedBy) => ApiError> = {
  // gateway.errors.model_not_found
  hidden: () =>
    apiError("model_not_found", {
      param: "model",
      recorded: "The model is internal, or private and not granted to the account.",
    }),
  // gateway.authentication.7, gateway.errors.model_not_permitted
  refused: () =>
    apiError("model_not_permitted", {
      param: "model",
      recorded:
        "The key's list lacks the model, or the model needs a grant that its account lacks.",
    }),
  // gateway.endpoints.chat_completions.7
  unscoped: () => scopeError("think", "model"),
  off: (by) => unavailableError("model_offline", by, "The model is off, or its servers are down."),
  blocked: (by) => unavailableError("model_unavailable", by, "The model is blocked."),
};

export function modelAccessError(access: ModelAccess, by: NamedBy): ApiError | undefined {
  return access === "allowed" ? undefined : ACCESS_ERRORS[access](by);
}

/**
 * gateway.states.p2, gateway.errors.model_offline, gateway.errors.model_unavailable: a caller that
 * named the model learns its state. gateway.states.p3, gateway.errors.no_model_available: others
 * learn of no model.
 */
export function unavailableError(
  code: "model_offline" | "model_unavailable",
  by: NamedBy,
  recorded?: string,
): ApiError {
  return apiError(by === "id" ? code : "no_model_available", { recorded });
}

function scopeError(scope: Scope, param: string): ApiError {
  return apiError("scope_required", { param, message: `This needs the scope ${scope}.` });
}

/** Names the scopes that a request needs, for the request log; null: none. */
export function nameScopes(
  { reasoning, think }: RequestedFeatures,
  { settings }: ServedModel,
): string | null {
  const thinks = think || settings.think === "required";
  if (reasoning) return thinks ? "reasoning think" : "reasoning";
  return thinks ? "think" : null;
}

/** Checks the key's scopes, then the model's capabilities; throws an error. */
export function requireFeatures(
  mode: RequestedFeatures,
  { settings }: ServedModel,
  caller: Caller,
): void {
  const lacks = (param: string, what: string) =>
    apiError("validation", { param, message: `The model ${settings.id} has no ${what}.` });
  // gateway.authentication.4, gateway.endpoints.chat_completions.1, gateway.errors.scope_required
  if (mode.reasoning && !caller.scopes.includes("reasoning")) {
    throw scopeError("reasoning", "reasoning");
  }
  if (mode.think && !caller.scopes.includes("think")) throw scopeError("think", "think");
  if (mode.tools?.length && !settings.capabilities.includes("tools")) {
    throw lacks("tools", "capability `tools`");
  }
  if (mode.reasoning && !settings.capabilities.includes("reasoning")) {
    throw lacks("reasoning", "capability `reasoning`");
  }
  const image = settings.capabilities.includes("vision") ? null : findImage(mode.messages);
  if (image) throw lacks(image, "capability `vision`");
}

function findImage(messages: RequestedFeatures["messages"]): string | null {
  for (let i = 0; i < messages.length; i++) {
    const { content } = messages[i]!;
    if (!Array.isArray(content)) continue;
    const part = content.findIndex(({ type }) => type === "image_url");
    if (part !== -1) return `messages.${i}.content.${part}`;
  }
  return null;
}
