// Questions to models from inside the program: the pipeline of POST /v1/chat/completions behind its
// validation, with the same rights, the same row of the ledger and the same line of the log.
import type { Caller } from "../../access/index.ts";
import type { RecorderFactory } from "../../http/index.ts";
import type {
  CompletionStats,
  CountTexts,
  ModelMessage,
  ModelRegistry,
  ModelTool,
  NamedModel,
  ServedModel,
  TokenUsage,
  ToolCall,
  UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ApiError, apiError, type ErrorCode, publicCode } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { type InFlight, isStopped, STOPPED, untilStop } from "../in-flight.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import { modelAccessError, requireFeatures } from "./authorize.ts";
import { errorOfCompletion } from "./failure.ts";
import { logFailure, requestLogFields } from "./failure-log.ts";
import { buildModelRequest } from "./model-request.ts";
import { buildPipeline } from "./pipeline.ts";
import { createMessageCollector, STATUS } from "./reply.ts";
import type { ThinkSettings } from "./think/think.ts";

/** One question to a model. */
export interface InternalChatRequest {
  /** An id, or the alias of the default model. */
  model: string;
  messages: ModelMessage[];
  tools: ModelTool[];
  temperature: number | null;
  top_p: number | null;
  /** null: the model's default; whatever it is, it is capped as a caller's would be. */
  max_tokens: number | null;
  reasoning: boolean;
}

export interface InternalCompletion {
  ok: true;
  /** The id of the model that answered. */
  model: string;
  /** null: there are only tool calls. */
  content: string | null;
  tool_calls: ToolCall[];
  finish_reason: string;
  usage: TokenUsage;
  /** true: its server told no usage, or not all of it; nobody pays by it. */
  usage_estimated: boolean;
  /** Whole milliseconds, with what it waited for a place or a start. */
  duration_ms: number;
}

export interface InternalChatError {
  ok: false;
  /** As a caller of the gateway would be shown it. */
  code: ErrorCode;
  /** What the caller would be told: our own sentence. */
  why: string;
  /** When its server would take requests again: so long from now on. */
  retry_after_ms?: number;
  /** What had been made until then, always an estimate. */
  usage?: TokenUsage;
  /** Of `context_length_exceeded`: how long the messages are, where that was counted. */
  prompt_tokens?: number;
  /** The program stops, and nothing else went wrong: whoever comes back may ask again. */
  is_stopped?: true;
}

export type InternalChatReply = InternalCompletion | InternalChatError;

export interface InternalChatClient {
  /**
   * What a model's name means, and whether this caller may call it now. Unlike a request an unknown
   * id finds nobody, whatever the date. A model that is stopped is a refusal too.
   */
  judge(name: string, caller: Caller): Promise<{ model: ServedModel } | { refusal: ApiError }>;
  /** Judges again, asks, and ends; what fails outside, or is refused, is a value. */
  ask(
    who: InternalCaller,
    request: InternalChatRequest,
    signal: AbortSignal,
  ): Promise<InternalChatReply>;
  /** The model that a name means now, as the settings say; undefined: nobody has it. */
  find(name: string): ModelSettings | undefined;
}

export interface InternalChatOptions {
  registry: ModelRegistry;
  countTexts: CountTexts;
  meter: RecorderFactory<GatewayRecorder>;
  running: InFlight;
  clock: Clock;
  log: Log;
  /** Asked for each question that needs it: a reload may change it. */
  thinking(): ThinkSettings;
}

export function createInternalChatClient(options: InternalChatOptions): InternalChatClient {
  const { registry, countTexts, meter, running, clock, log, thinking } = options;

  const judge = async (named: NamedModel, caller: Caller): Promise<ApiError | undefined> => {
    if (named.by === "unknown") return apiError("model_not_found");
    try {
      const refusal = modelAccessError(await registry.judge(named.model, caller), named.by);
      // A scope is no matter of the model's name: without it the key may not call this one.
      return refusal?.code === "scope_required" ? apiError("model_not_permitted") : refusal;
    } catch (error) {
      log.error("the state of a model could not be read", { error });
      return apiError("no_model_available");
    }
  };

  const answer = async (
    who: InternalCaller,
    round: InternalChatRequest,
    signal: AbortSignal,
    recorder: GatewayRecorder,
  ): Promise<InternalChatReply> => {
    const { caller } = who;
    const { model, by } = registry.name(round.model);
    if (by !== "unknown") recorder.setModel(model.settings);
    const refusal = await judge({ model, by }, caller);
    if (refusal) throw refusal;
    requireFeatures(round, model, caller);
    const request = buildModelRequest(round, model, who);
    // Beside tools nobody can think: attempts that call them would call them several times.
    const thinks = model.settings.think === "required" && round.tools.length === 0;
    const conducted = buildPipeline(model, countTexts, thinks ? thinking() : null);
    const collector = createMessageCollector();
    const asked_at = clock.monotonic();
    const ending = await untilStop(running, conducted(request, collector.onChunk, signal), STOPPED);
    recorder.setResult(ending);
    if (!ending.ok) {
      const admitted = { request, caller, model, by };
      logFailure(log, ending, admitted, undefined);
      return writeFailure(errorOfCompletion(ending, admitted), ending);
    }
    const { content, tool_calls = [] } = collector.write();
    return {
      ok: true,
      model: model.settings.id,
      content,
      tool_calls,
      finish_reason: ending.finishReason,
      usage: ending.usage,
      usage_estimated: ending.usageEstimated === true,
      duration_ms: Math.round(clock.monotonic() - asked_at),
    };
  };

  return {
    find(name) {
      const { model, by } = registry.name(name);
      return by === "unknown" ? undefined : model.settings;
    },
    async judge(name, caller) {
      const named = registry.name(name);
      const refusal = await judge(named, caller);
      if (!refusal) return { model: named.model };
      return { refusal: apiError(refusal.code, { param: "model" }) };
    },
    async ask(who, round, signal) {
      const recorder = meter.open({ ...who, started_at: clock.monotonic() });
      try {
        const reply = await answer(who, round, signal, recorder);
        if (reply.ok) recorder.close(STATUS, null, 0);
        else recorder.close(apiError(reply.code).status, reply.code, 0);
        return reply;
      } catch (failure) {
        // What the key may not, and what only a scripted model refuses with.
        if (failure instanceof ApiError) {
          const reply = writeFailure(failure, undefined);
          recorder.close(failure.status, reply.code, 0);
          return reply;
        }
        log.error("a question from inside failed", { ...requestLogFields(who), error: failure });
        recorder.close(apiError("internal_error").status, "internal_error", 0);
        throw failure;
      }
    },
  };
}

/** `ending`: undefined where it was refused. */
function writeFailure(
  refusal: ApiError,
  ending: (UpstreamError & CompletionStats) | undefined,
): InternalChatError {
  const code = publicCode(refusal.code, "gateway") as ErrorCode;
  const failure: InternalChatError = { ok: false, code, why: refusal.message };
  if (!ending) return failure;
  const { retryAfterMs: retry_after_ms, usage, promptTokens: prompt_tokens } = ending;
  if (retry_after_ms !== undefined) failure.retry_after_ms = retry_after_ms;
  if (usage !== undefined) failure.usage = usage;
  if (prompt_tokens !== undefined) failure.prompt_tokens = prompt_tokens;
  if (isStopped(ending)) failure.is_stopped = true;
  return failure;
}
