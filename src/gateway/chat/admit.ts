// Admission of a chat request over HTTP: checks what the key may and the model can.
import type { Caller } from "../../access/index.ts";
import { toApiError } from "../../http/index.ts";
import type { ModelRegistry, ServedModel } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import { modelAccessError, nameScopes, requireFeatures } from "./authorize.ts";
import { hasSunset, writeDeprecation } from "./deprecation.ts";
import type { ChatExecution, PreparedChat } from "./execution.ts";
import { buildModelRequest, readRequestInput } from "./model-request.ts";
import type { ChatRequest } from "./request.ts";
import { writeIgnored } from "./unlisted-fields.ts";

export interface ChatContext extends InternalCaller {
  recorder: GatewayRecorder;
}

export interface AdmittedChat extends PreparedChat {
  headers: Record<string, string>;
  successHeaders: Record<string, string>;
}

export interface AdmitOptions {
  registry: ModelRegistry;
  clock: Clock;
  /** Read for each request, since a reload may change it. */
  changelogUrl(): string;
}

/** Receives what is known of a request before its model is asked. */
type ModelNotes = Pick<GatewayRecorder, "asked_model" | "scope" | "setModel">;

/** Finds a request's model, which the key may call and which can do what is asked. */
export function createFindModel({ registry, clock, changelogUrl }: AdmitOptions) {
  return async (body: ChatRequest, caller: Caller, recorder: ModelNotes) => {
    const { model, by } = registry.resolve(body.model);
    recorder.asked_model = body.model ?? null;
    if (by === "unknown" && hasSunset(clock.now())) {
      throw apiError("model_not_found", { param: "model" });
    }
    recorder.setModel(model.settings);
    recorder.scope = nameScopes(body, model);
    const headers = by === "unknown" ? writeDeprecation(clock.now(), changelogUrl()) : {};
    try {
      // The order is: rights of the key, state of the model, features of the request.
      const accessError = modelAccessError(await registry.authorize(model, caller), by);
      if (accessError) throw accessError;
      requireFeatures(body, model, caller);
      refuseTools(body, model);
    } catch (error) {
      throw addHeaders(error, headers);
    }
    return { model, by, headers };
  };
}

/** Admits a request whose fields are valid; throws errors in one order. */
export function createAdmit(execution: ChatExecution, options: AdmitOptions) {
  const find = createFindModel(options);
  return async (body: ChatRequest, context: ChatContext): Promise<AdmittedChat> => {
    const { caller, recorder } = context;
    const { model, by, headers } = await find(body, caller, recorder);
    const request = buildModelRequest(readRequestInput(body, model), model, context);
    // gateway.endpoints.chat_completions.7: a model that needs deep thinking always thinks.
    const thinks = body.think === true || model.settings.think === "required";
    const complete = execution.pipeline(model, caller, thinks);
    const successHeaders = { ...headers, ...writeIgnored(body, request) };
    const user = body.user || null;
    return { caller, recorder, request, user, model, complete, by, headers, successHeaders };
  };
}

/** Errors without deprecation headers: those of keys and fields precede the choice of a model. */
const UNMARKED: readonly ErrorCode[] = [
  "validation",
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "request_too_large",
  "rate_limit_exceeded",
];

/** gateway.errors.headers.deprecation: errors of a deprecated request carry its headers, too. */
export function addHeaders(failure: unknown, headers: Record<string, string>): ApiError {
  const error = toApiError(failure);
  if (UNMARKED.includes(error.code)) return error;
  const { code, details, cause } = error;
  return new ApiError(code, { ...details, headers: { ...details.headers, ...headers } }, cause);
}

/** Names the field of another format in an error about the chat that was made of it. */
export function renameParam(error: ApiError, rename: (param: string) => string): ApiError {
  const { code, details, cause } = error;
  const param = details.param && rename(details.param);
  return param === details.param ? error : new ApiError(code, { ...details, param }, cause);
}

/** A chat ignores a format that its model cannot hold; callers of other formats rely on it. */
export function requireFormat({ model, request }: AdmittedChat, param: string): void {
  if (request.response_format) return;
  const message = `The model ${model.settings.id} has no capability \`structured_outputs\`.`;
  throw apiError("validation", { param, message });
}

/** gateway.endpoints.chat_completions.3 for a model that always thinks. */
function refuseTools({ tools }: ChatRequest, { settings }: ServedModel): void {
  if (settings.think !== "required" || !tools?.length) return;
  const message = `The model ${settings.id} always thinks, and then it takes no \`tools\`.`;
  throw apiError("validation", { param: "tools", message });
}
