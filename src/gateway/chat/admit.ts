// Who may ask what: judges a valid request against the key and the model, or refuses it.
import type { Caller, Scope } from "../../access/index.ts";
import type {
  Answer,
  Ask,
  Judgement,
  ModelRegistry,
  Named,
  ServedModel,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Code, Refusal, refuse } from "../../platform/refusal.ts";
import type { Trace } from "../../platform/trace.ts";
import type { RequestTally } from "../ledger/tally.ts";
import { conductAnswer } from "./answer.ts";
import { writeAsk } from "./ask.ts";
import { hasSunset, writeDeprecation } from "./deprecation.ts";
import type { ChatRequest } from "./request.ts";
import type { Thinking } from "./think/think.ts";

/** A request that is to be judged: who asks, and what it is accounted in. */
export interface Applicant {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
  tally: RequestTally;
}

export interface Admitted {
  caller: Caller;
  tally: RequestTally;
  ask: Ask;
  /** As the caller sent it: for the log only, and there only as a keyed hash; null: none. */
  user: string | null;
  model: ServedModel;
  answer: Answer;
  /** How the caller named it: by its id, or the default one by the alias or an unknown id. */
  by: By;
  /** Headers that every reply to this request carries. */
  headers: Record<string, string>;
}

export interface AdmitOptions {
  registry: ModelRegistry;
  clock: Clock;
  /** Asked for each request that needs it: a reload may change it. */
  changelogUrl(): string;
  /** The same of how often a model answers that is to think. */
  thinking(): Thinking;
}

/** Judges a request whose fields are valid; refuses in one order. */
export function createAdmit({ registry, clock, changelogUrl, thinking }: AdmitOptions) {
  return async (body: ChatRequest, applicant: Applicant): Promise<Admitted> => {
    const { caller, tally } = applicant;
    const { model, by } = registry.name(body.model);
    if (by === "unknown" && hasSunset(clock.now())) {
      throw refuse("model_not_found", { param: "model" });
    }
    tally.name(model.settings);
    const headers = by === "unknown" ? writeDeprecation(clock.now(), changelogUrl()) : {};
    try {
      // First what the key may, then what the operator switched; what the request wants comes last.
      const judgement = await registry.judge(model, caller);
      if (judgement !== "allowed") throw REFUSALS[judgement](by);
      refuseMode(body, model, caller);
    } catch (refusal) {
      throw addHeaders(refusal, headers);
    }
    const ask = writeAsk(body, model, applicant);
    const user = body.user || null;
    const answer = conductAnswer(model, mustThink(body, model) ? thinking() : null);
    return { caller, tally, ask, user, model, answer, by, headers };
  };
}

/** Errors of a field, and those of the key, which from here on only a script causes. */
const UNMARKED: readonly Code[] = [
  "validation",
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "request_too_large",
  "rate_limit_exceeded",
];

/** gateway.errors.headers.deprecation: the errors of such a request carry its headers too. */
export function addHeaders(failure: unknown, headers: Record<string, string>): unknown {
  if (!(failure instanceof Refusal)) return new Refusal("internal_error", { headers }, failure);
  if (UNMARKED.includes(failure.code)) return failure;
  return refuse(failure.code, { ...failure.say, headers: { ...failure.say.headers, ...headers } });
}

type By = Named["by"];

const REFUSALS: Record<Exclude<Judgement, "allowed">, (by: By) => Refusal> = {
  // gateway.errors.model_not_found
  hidden: () => refuse("model_not_found", { param: "model" }),
  // gateway.authentication.7, gateway.errors.model_not_permitted
  refused: () => refuse("model_not_permitted", { param: "model" }),
  // gateway.endpoints.chat_completions.7
  unscoped: () => refuseScope("think", "model"),
  off: (by) => refuseGone("model_offline", by),
  blocked: (by) => refuseGone("model_unavailable", by),
};

/**
 * gateway.states.p2, gateway.errors.model_offline, gateway.errors.model_unavailable: who named the
 * model is told what it is. gateway.states.p3, gateway.errors.no_model_available: who did not is
 * told of no model.
 */
export function refuseGone(code: "model_offline" | "model_unavailable", by: By): Refusal {
  return refuse(by === "id" ? code : "no_model_available");
}

function refuseScope(scope: Scope, param: string): Refusal {
  return refuse("scope_required", { param, message: `This needs the scope ${scope}.` });
}

/** What is wanted beyond plain text: first the key's scopes, then what the model can do. */
function refuseMode(body: ChatRequest, model: ServedModel, caller: Caller): void {
  const { settings } = model;
  const lacks = (param: string, what: string) =>
    refuse("validation", { param, message: `The model ${settings.id} has no ${what}.` });
  // gateway.authentication.4, gateway.endpoints.chat_completions.1, gateway.errors.scope_required
  for (const mode of ["reasoning", "think"] as const) {
    if (body[mode] && !caller.scopes.includes(mode)) throw refuseScope(mode, mode);
  }
  if (body.tools?.length && !settings.capabilities.includes("tools")) {
    throw lacks("tools", "capability `tools`");
  }
  // gateway.endpoints.chat_completions.3, which the body alone cannot tell of such a model.
  if (body.tools?.length && mustThink(body, model)) {
    const message = `The model ${settings.id} always thinks, and then it takes no \`tools\`.`;
    throw refuse("validation", { param: "tools", message });
  }
  if (body.reasoning && !settings.capabilities.includes("reasoning")) {
    throw lacks("reasoning", "capability `reasoning`");
  }
  const image = settings.capabilities.includes("vision") ? null : findImage(body);
  if (image) throw lacks(image, "capability `vision`");
}

/** gateway.endpoints.chat_completions.7: of a model that needs it every call thinks. */
function mustThink(body: ChatRequest, { settings }: ServedModel): boolean {
  return body.think === true || settings.think === "required";
}

/** The path of the first image; null: there is none. */
function findImage({ messages }: ChatRequest): string | null {
  for (const [i, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    const part = content.findIndex(({ type }) => type === "image_url");
    if (part !== -1) return `messages.${i}.content.${part}`;
  }
  return null;
}
