// Who may ask what: judges a valid request against the key and the model, or refuses it.
import type { Caller } from "../../access/index.ts";
import type {
  Complete,
  CountTexts,
  ModelRegistry,
  ModelRequest,
  ServedModel,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";
import type { Trace } from "../../platform/trace.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import { modelAccessError, type NamedBy, requireFeatures } from "./authorize.ts";
import { hasSunset, writeDeprecation } from "./deprecation.ts";
import { writeIgnored } from "./ignored-fields.ts";
import { buildModelRequest, readRequestInput } from "./model-request.ts";
import { buildPipeline } from "./pipeline.ts";
import type { ChatRequest } from "./request.ts";
import type { ThinkSettings } from "./think/think.ts";

/** A request that is to be judged: who asks, and what it is accounted in. */
export interface ChatContext {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
  recorder: GatewayRecorder;
}

export interface AdmittedChat {
  caller: Caller;
  recorder: GatewayRecorder;
  request: ModelRequest;
  /** As the caller sent it: for the log only, and there only as a keyed hash; null: none. */
  user: string | null;
  model: ServedModel;
  answer: Complete;
  /** How the caller named it: by its id, or the default one by the alias or an unknown id. */
  by: NamedBy;
  /** Headers that every reply to this request carries. */
  headers: Record<string, string>;
  /** Headers of a success alone. */
  successHeaders: Record<string, string>;
}

export interface AdmitOptions {
  registry: ModelRegistry;
  countTexts: CountTexts;
  clock: Clock;
  /** Asked for each request that needs it: a reload may change it. */
  changelogUrl(): string;
  /** The same of how often a model answers that is to think. */
  thinking(): ThinkSettings;
}

/** Judges a request whose fields are valid; refuses in one order. */
export function createAdmit({ registry, countTexts, clock, changelogUrl, thinking }: AdmitOptions) {
  return async (body: ChatRequest, applicant: ChatContext): Promise<AdmittedChat> => {
    const { caller, recorder } = applicant;
    const { model, by } = registry.name(body.model);
    if (by === "unknown" && hasSunset(clock.now())) {
      throw apiError("model_not_found", { param: "model" });
    }
    recorder.setModel(model.settings);
    const headers = by === "unknown" ? writeDeprecation(clock.now(), changelogUrl()) : {};
    try {
      // First what the key may, then what the operator switched; what the request wants comes last.
      const refusal = modelAccessError(await registry.judge(model, caller), by);
      if (refusal) throw refusal;
      requireFeatures(body, model, caller);
      refuseTools(body, model);
    } catch (refusal) {
      throw addHeaders(refusal, headers);
    }
    const ask = buildModelRequest(readRequestInput(body, model), model, applicant);
    const user = body.user || null;
    // gateway.endpoints.chat_completions.7: of a model that needs it every call thinks.
    const thinks = body.think === true || model.settings.think === "required";
    const answer = buildPipeline(model, countTexts, thinks ? thinking() : null);
    const successHeaders = { ...headers, ...writeIgnored(body, ask) };
    return { caller, recorder, request: ask, user, model, answer, by, headers, successHeaders };
  };
}

/** Errors of a field, and those of the key, which from here on only a script causes. */
const UNMARKED: readonly ErrorCode[] = [
  "validation",
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "request_too_large",
  "rate_limit_exceeded",
];

/** gateway.errors.headers.deprecation: the errors of such a request carry its headers too. */
export function addHeaders(failure: unknown, headers: Record<string, string>): unknown {
  if (!(failure instanceof ApiError)) return new ApiError("internal_error", { headers }, failure);
  if (UNMARKED.includes(failure.code)) return failure;
  return apiError(failure.code, {
    ...failure.details,
    headers: { ...failure.details.headers, ...headers },
  });
}

/** gateway.endpoints.chat_completions.3, which the body alone cannot tell of such a model. */
function refuseTools({ tools }: ChatRequest, { settings }: ServedModel): void {
  if (settings.think !== "required" || !tools?.length) return;
  const message = `The model ${settings.id} always thinks, and then it takes no \`tools\`.`;
  throw apiError("validation", { param: "tools", message });
}
