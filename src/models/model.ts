// A model as callers see it and as the gateway serves it, its caps and its price.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource } from "../platform/schema.ts";
import type { ModelSettings } from "../settings/index.ts";
import type { Backend } from "./backend.ts";
import type { TokenUsage } from "./providers/contract.ts";

export const Model = Resource("Model", {
  /** gateway.resources.model.id */
  id: Type.String({ description: "Identifier to send in `model`." }),
  /** gateway.resources.model.object */
  object: Type.Literal("model", { description: "Always `model`." }),
  /** gateway.resources.model.created */
  created: Type.Integer({ description: "Unix seconds when the model was added; 0: unknown." }),
  /** gateway.resources.model.owned_by */
  owned_by: Type.String({ description: "The same as `provider`." }),
  /** gateway.resources.model.provider */
  provider: Type.String({ description: "The party that runs it; `unknown` until reviewed." }),
  /** gateway.resources.model.self_hosted */
  self_hosted: Type.Boolean({
    description: "Weights the operator controls, on a server it runs or rents.",
  }),
  /** gateway.resources.model.upstream_revision */
  upstream_revision: maybe(
    Type.String({
      description:
        "64 hexadecimal digits that change when requests go elsewhere; null: self-hosted.",
    }),
  ),
  /** gateway.resources.model.context_window */
  context_window: maybe(
    Type.Integer({ description: "Tokens of messages and reply together; null: not recorded." }),
  ),
  /** gateway.resources.model.max_output_tokens */
  max_output_tokens: Type.Integer({
    description: "Largest `max_tokens` for this key: the model's cap, the key's cap and 8,192.",
  }),
  /** gateway.resources.model.default_max_tokens */
  default_max_tokens: Type.Integer({
    description: "`max_tokens` when a request omits it, within the same caps.",
  }),
  /** gateway.resources.model.capabilities */
  capabilities: Type.Array(Type.String({ description: "One of them." }), {
    description: "What it supports, for example `tools`, `streaming`.",
  }),
  /** gateway.resources.model.status, gateway.states.model_status */
  status: Type.Union([Type.Literal("on"), Type.Literal("offline")], {
    description: "`offline`: currently stopped.",
  }),
});
export type Model = Static<typeof Model>;

/** gateway.resources.model.p1 */
export const ModelList = Resource("ModelList", {
  object: Type.Literal("list", { description: "Always `list`." }),
  data: Type.Array(Model, { description: "Exactly the models that the key may call." }),
});

export interface ServedModel {
  settings: ModelSettings;
  /** Unix seconds when this installation first saw it. */
  created: number;
  upstream_revision: string | null;
  backend: Backend;
}

/** gateway.limits.output_budget_ceiling */
const OUTPUT_TOKENS_CEILING = 8_192;

/** gateway.endpoints.chat_completions.6: the smallest of model, key and ceiling. */
export function capOutput(settings: ModelSettings, keyCap: number | null): number {
  return Math.min(
    settings.max_output_tokens,
    keyCap ?? Number.POSITIVE_INFINITY,
    OUTPUT_TOKENS_CEILING,
  );
}

export interface OutputCap {
  max_tokens: number;
  /** The request, the model's default, or the cap that lowered them. */
  by: "request" | "default" | "model" | "key" | "service";
}

/** Caps the tokens asked for, or the model's default: the lowest cap decides. */
export function chooseOutputCap(
  settings: ModelSettings,
  keyCap: number | null,
  asked: number | null,
): OutputCap {
  const wanted = asked ?? settings.default_max_tokens;
  const max_tokens = Math.min(wanted, capOutput(settings, keyCap));
  if (max_tokens === wanted) return { max_tokens, by: asked === null ? "default" : "request" };
  if (max_tokens === keyCap) return { max_tokens, by: "key" };
  return { max_tokens, by: max_tokens === settings.max_output_tokens ? "model" : "service" };
}

const PRICED_TOKENS = 1_000_000;

/**
 * Computes a cost in whole micro-SAR, rounded half up once. Returns null without a price, or for
 * an amount too large to be written.
 */
export function costOf(
  { prompt_tokens, completion_tokens }: TokenUsage,
  price: ModelSettings["price"],
): number | null {
  if (price === null) return null;
  const parts = prompt_tokens * price.prompt + completion_tokens * price.completion;
  const whole = parts + PRICED_TOKENS / 2;
  if (Number.isSafeInteger(whole)) return (whole - (whole % PRICED_TOKENS)) / PRICED_TOKENS;
  const exact =
    BigInt(prompt_tokens) * BigInt(price.prompt) +
    BigInt(completion_tokens) * BigInt(price.completion) +
    BigInt(PRICED_TOKENS / 2);
  const cost = Number(exact / BigInt(PRICED_TOKENS));
  return Number.isSafeInteger(cost) ? cost : null;
}
