// Who may ask what: judges a valid request against the key and the model, or refuses it.
import type { Caller } from "../../access/index.ts";
import type { Answer, Ask, ModelRegistry, ServedModel } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Code, Refusal, refuse } from "../../platform/refusal.ts";
import { writeAsk } from "./ask.ts";
import { hasSunset, writeDeprecation } from "./deprecation.ts";
import { type ChatRequest, refuseCombinations } from "./request.ts";

export interface Admitted {
  caller: Caller;
  ask: Ask;
  /** As the caller sent it: for the log only, and there only as a keyed hash; null: none. */
  user: string | null;
  model: ServedModel;
  answer: Answer;
  /** True when the caller did not name this model: by the alias, no name or an unknown id. */
  is_default: boolean;
  /** Headers that every reply to this request carries. */
  headers: Record<string, string>;
}

export interface AdmitOptions {
  registry: ModelRegistry;
  clock: Clock;
  changelog_url: string;
}

/** Judges a request whose fields are valid; refuses in one order. */
export function createAdmit({ registry, clock, changelog_url }: AdmitOptions) {
  return async (body: ChatRequest, caller: Caller, request_id: string): Promise<Admitted> => {
    refuseCombinations(body);
    const { model, by } = registry.name(body.model);
    if (by === "unknown" && hasSunset(clock.now())) {
      throw refuse("model_not_found", { param: "model" });
    }
    const headers = by === "unknown" ? writeDeprecation(clock.now(), changelog_url) : {};
    try {
      await refuseModel(registry, model, caller);
      refuseMode(body, model, caller);
    } catch (refusal) {
      throw addHeaders(refusal, headers);
    }
    const ask = writeAsk(body, model, caller, request_id);
    const user = body.user || null;
    const { answer } = model;
    return { caller, ask, user, model, answer, is_default: by !== "id", headers };
  };
}

/** Errors that speak of the key and not of the model; from here on only a script causes them. */
const UNMARKED: readonly Code[] = [
  "missing_api_key",
  "invalid_api_key",
  "request_too_large",
  "rate_limit_exceeded",
];

/** gateway.errors.headers.deprecation: the errors of such a request carry its headers too. */
export function addHeaders(failure: unknown, headers: Record<string, string>): unknown {
  if (!(failure instanceof Refusal) || UNMARKED.includes(failure.code)) return failure;
  return refuse(failure.code, { ...failure.say, headers: { ...failure.say.headers, ...headers } });
}

async function refuseModel(registry: ModelRegistry, model: ServedModel, caller: Caller) {
  switch (await registry.judge(model, caller)) {
    case "hidden":
      // gateway.errors.model_not_found
      throw refuse("model_not_found", { param: "model" });
    case "refused":
      // gateway.authentication.7, gateway.errors.model_not_permitted
      throw refuse("model_not_permitted", { param: "model" });
  }
}

/** What is wanted beyond plain text: first the key's scopes, then what the model can do. */
function refuseMode(body: ChatRequest, { settings }: ServedModel, caller: Caller): void {
  const needs = (scope: "reasoning" | "think", param: string) => {
    if (caller.scopes.has(scope)) return;
    throw refuse("scope_required", { param, message: `This needs the scope ${scope}.` });
  };
  const lacks = (param: string, what: string) =>
    refuse("validation", { param, message: `The model ${settings.id} has no ${what}.` });
  // gateway.authentication.4, gateway.endpoints.chat_completions.1, gateway.errors.scope_required
  if (body.reasoning) needs("reasoning", "reasoning");
  if (body.think) needs("think", "think");
  // gateway.endpoints.chat_completions.7
  if (settings.think === "required") needs("think", "model");
  if (body.tools?.length && !settings.capabilities.includes("tools")) {
    throw lacks("tools", "capability `tools`");
  }
  if (body.reasoning && !settings.capabilities.includes("reasoning")) {
    throw lacks("reasoning", "capability `reasoning`");
  }
  const image = findImage(body, settings.capabilities.includes("vision"));
  if (image) throw lacks(image, "use for an image here");
  // Answering once would pass for what was asked; until the attempts exist the honest answer is no.
  if (body.think || settings.think === "required") throw refuse("model_unavailable");
}

/** The path of the first image in a message that may hold none; null: there is none. */
function findImage({ messages }: ChatRequest, hasVision: boolean): string | null {
  for (const [i, { role, content }] of messages.entries()) {
    if (!Array.isArray(content) || (hasVision && role === "user")) continue;
    const part = content.findIndex(({ type }) => type === "image_url");
    if (part !== -1) return `messages.${i}.content.${part}`;
  }
  return null;
}
