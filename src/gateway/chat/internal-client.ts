// Chats for internal callers: the execution of POST /v1/chat/completions, with errors as values.
import type { Caller } from "../../access/index.ts";
import type { RecorderFactory } from "../../http/index.ts";
import type {
  ModelMessage,
  ModelRegistry,
  ModelTool,
  NamedModel,
  ResponseFormat,
  ServedModel,
  TokenUsage,
  ToolCall,
  UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { type InternalFailure, recordInternal, toInternalFailure } from "../internal-request.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import { modelAccessError, nameScopes, requireFeatures } from "./authorize.ts";
import {
  type ChatExecution,
  type PreparedChat,
  type ReplyWatch,
  requestLogFields,
} from "./execution.ts";
import { errorOfCompletion } from "./failure.ts";
import { buildModelRequest } from "./model-request.ts";
import { STATUS } from "./reply.ts";

export interface InternalChatRequest {
  model: string;
  messages: ModelMessage[];
  tools: ModelTool[];
  temperature: number | null;
  top_p: number | null;
  /** The default is the model's; both are capped as for HTTP callers. */
  max_tokens: number | null;
  reasoning: boolean;
  /** Only for a model with the capability. */
  response_format?: ResponseFormat | null;
}

/** Times of a reply, and the server that gave it. */
export interface ReplyTiming {
  /** Milliseconds for a place or a server's start. */
  waited_ms: number | null;
  /** Milliseconds from the question to the first piece of the reply, waiting included. */
  first_token_ms: number | null;
  replica: string | null;
  /** Requests that were sent to model servers. */
  attempts: number | null;
}

export interface InternalCompletion {
  ok: true;
  model: string;
  content: string | null;
  tool_calls: ToolCall[];
  finish_reason: string;
  usage: TokenUsage;
  /** An estimated usage costs nothing. */
  usage_estimated: boolean;
  /** Whole milliseconds, waiting included. */
  duration_ms: number;
  timing?: ReplyTiming;
}

export interface InternalChatError extends InternalFailure {
  usage?: TokenUsage;
  /** With `context_length_exceeded`, if it was counted. */
  prompt_tokens?: number;
}

export type InternalChatReply = InternalCompletion | InternalChatError;

export interface InternalChatOptions {
  registry: ModelRegistry;
  meter: RecorderFactory<GatewayRecorder>;
  clock: Clock;
  log: Log;
}

export class InternalChatClient {
  readonly #execution: ChatExecution;
  readonly #options: InternalChatOptions;

  constructor(execution: ChatExecution, options: InternalChatOptions) {
    this.#execution = execution;
    this.#options = options;
  }

  find(name: string): ModelSettings | undefined {
    const { model, by } = this.#options.registry.resolve(name);
    return by === "unknown" ? undefined : model.settings;
  }

  /** Unlike over HTTP, unknown ids are errors. */
  async authorize(
    name: string,
    caller: Caller,
  ): Promise<{ model: ServedModel } | { refusal: ApiError }> {
    const named = this.#options.registry.resolve(name);
    const error = await this.#findAccessError(named, caller);
    if (!error) return { model: named.model };
    return { refusal: apiError(error.code, { param: "model" }) };
  }

  /** Checks the rights again; errors are values. A `watch` sees the reply as it comes. */
  async ask(
    who: InternalCaller,
    round: InternalChatRequest,
    signal: AbortSignal,
    watch?: ReplyWatch,
  ): Promise<InternalChatReply> {
    const { meter, clock, log } = this.#options;
    const recorder = meter.open({ ...who, started_at: clock.monotonic() });
    const complete = async () => {
      const chat = await this.#prepare(who, round, recorder);
      const { capabilities } = chat.model.settings;
      if (watch?.wantsPieces) chat.request.stream = capabilities.includes("streaming");
      return this.#complete(chat, signal, watch);
    };
    return recordInternal(recorder, STATUS, complete, (error) =>
      log.error("chat: an internal request failed", { ...requestLogFields(who), error }),
    );
  }

  async #prepare(
    who: InternalCaller,
    round: InternalChatRequest,
    recorder: GatewayRecorder,
  ): Promise<PreparedChat> {
    const { caller } = who;
    const { model, by } = this.#options.registry.resolve(round.model);
    recorder.asked_model = round.model;
    if (by !== "unknown") recorder.setModel(model.settings);
    recorder.scope = nameScopes(round, model);
    const accessError = await this.#findAccessError({ model, by }, caller);
    if (accessError) throw accessError;
    requireFeatures(round, model, caller);
    const { trace } = recorder;
    const request = buildModelRequest(round, model, { ...who, trace, recorder });
    // With tools nothing thinks: several attempts would call them several times.
    const thinks = model.settings.think === "required" && round.tools.length === 0;
    const complete = this.#execution.pipeline(model, caller, thinks);
    return { caller, recorder, request, model, by, complete, user: null };
  }

  async #complete(
    chat: PreparedChat,
    signal: AbortSignal,
    watch?: ReplyWatch,
  ): Promise<InternalChatReply> {
    const result = await this.#execution.completeWhole(chat, signal, watch);
    if (!result.ok) return toChatError(errorOfCompletion(result, chat), result);
    const { content, tool_calls = [] } = result.message;
    return {
      ok: true,
      model: chat.model.settings.id,
      content,
      tool_calls,
      finish_reason: result.finishReason,
      usage: result.usage,
      usage_estimated: result.usageEstimated === true,
      duration_ms: Math.round(result.durationMs),
      timing: {
        waited_ms: round(result.waitedMs),
        first_token_ms: round(result.firstChunkMs),
        replica: result.replica ?? null,
        attempts: result.attempts ?? null,
      },
    };
  }

  async #findAccessError(named: NamedModel, caller: Caller): Promise<ApiError | undefined> {
    const { registry, log } = this.#options;
    if (named.by === "unknown") return apiError("model_not_found");
    try {
      const error = modelAccessError(await registry.authorize(named.model, caller), named.by);
      // A key without the model's scope may not call this model.
      return error?.code === "scope_required" ? apiError("model_not_permitted") : error;
    } catch (error) {
      log.error("chat: the state of a model could not be read", { error });
      return apiError("no_model_available");
    }
  }
}

function round(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : Math.round(ms);
}

function toChatError(error: ApiError, failure: UpstreamError): InternalChatError {
  const { retryAfterMs, usage, promptTokens, endedBy } = failure;
  const reply: InternalChatError = toInternalFailure(error, endedBy);
  if (retryAfterMs !== undefined) reply.retry_after_ms = retryAfterMs;
  if (usage !== undefined) reply.usage = usage;
  if (promptTokens !== undefined) reply.prompt_tokens = promptTokens;
  return reply;
}
