// One execution of a chat request, for the HTTP route and internal callers.
import { accountOf, type Caller } from "../../access/index.ts";
import type {
  Chunk,
  Complete,
  CompletionOk,
  CompletionStats,
  CountTexts,
  ModelRequest,
  OnChunk,
  ServedModel,
  UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { ERROR_CODES } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { traceIdOf } from "../../platform/trace.ts";
import type { CallerBudgets } from "../budgets/caller-budgets.ts";
import { type InFlight, STOPPED, untilStop } from "../in-flight.ts";
import type { GatewayRecorder } from "../request-log/recorder.ts";
import type { NamedBy } from "./authorize.ts";
import { estimateUsage, withinBudgets } from "./budget-check.ts";
import { checkContext } from "./context-check.ts";
import { createMessageCollector, type PartialReply, type ReplyMessage } from "./reply.ts";
import { type ThinkSettings, think } from "./think/think.ts";

export interface PreparedChat {
  caller: Caller;
  recorder: GatewayRecorder;
  request: ModelRequest;
  model: ServedModel;
  by: NamedBy;
  complete: Complete;
  /** Only a keyed hash of it is logged. */
  user: string | null;
}

export type WholeReply = CompletionOk & {
  message: ReplyMessage;
  /** Whole milliseconds, waiting included. */
  durationMs: number;
};

/** Reader of a reply while it is written; none of its functions throws. */
export interface ReplyWatch {
  /** Has the model asked for pieces, which cost more than a whole reply. */
  readonly wantsPieces: boolean;
  /** Looked at for each piece; null while the pieces have no reader. */
  readonly onPiece: ((piece: Chunk) => void) | null;
  /** Called before the model is asked. */
  begin(read: () => PartialReply): void;
}

export interface ChatExecutionOptions {
  budgets: CallerBudgets;
  countTexts: CountTexts;
  running: InFlight;
  clock: Clock;
  log: Log;
  hashUser(text: string): string;
  thinkSettings(): ThinkSettings;
}

export class ChatExecution {
  readonly #options: ChatExecutionOptions;

  constructor(options: ChatExecutionOptions) {
    this.#options = options;
  }

  pipeline(model: ServedModel, caller: Caller, thinks: boolean): Complete {
    const { budgets, countTexts, thinkSettings } = this.#options;
    const { settings, backend } = model;
    const { attempts, attempts_more } = thinkSettings();
    const complete = thinks ? think(backend.complete, thinkSettings()) : backend.complete;
    // All attempts share one request, which is checked once.
    const check = (checked: Complete) =>
      checkContext(settings, backend.countTokens, countTexts, checked);
    if (!caller.limits) return check(complete);
    const attemptsMax = thinks ? attempts + attempts_more : 1;
    const options = { budgets, caller, model, countTexts, attempts: attemptsMax };
    return withinBudgets(options, check, complete);
  }

  /** A `watch` sees the reply while it is written. */
  async completeWhole(chat: PreparedChat, signal: AbortSignal, watch?: ReplyWatch) {
    const { running, clock } = this.#options;
    const collector = createMessageCollector();
    const startedAt = clock.monotonic();
    let firstChunkMs: number | null = null;
    const onChunk: OnChunk = (chunk) => {
      firstChunkMs ??= clock.monotonic() - startedAt;
      void collector.onChunk(chunk);
      watch?.onPiece?.(chunk);
    };
    watch?.begin(collector.read);
    chat.recorder.markAsked();
    const pending = chat.complete(chat.request, onChunk, signal);
    const completion: (CompletionOk | UpstreamError) & CompletionStats = await untilStop(
      running,
      pending,
      STOPPED,
    );
    chat.recorder.setResult(estimateUsage(completion, chat.request));
    if (chat.recorder.wantsContent) {
      const output = completion.ok ? collector.write() : null;
      chat.recorder.setContent({ input: chat.request.messages, output });
    }
    if (!completion.ok) {
      this.logFailure(completion, chat);
      return completion;
    }
    const durationMs = clock.monotonic() - startedAt;
    return { ...completion, message: collector.write(), durationMs, firstChunkMs };
  }

  logFailure(failure: UpstreamError, chat: PreparedChat): void {
    const { log } = this.#options;
    const { code, reason, upstreamStatus: upstream_status } = failure;
    const fields = { ...this.#logFields(chat), upstream_status, code };
    // gateway.errors.client_closed_request: the status is only logged.
    if (code === "client_closed_request") {
      log.info(reason, { ...fields, status: ERROR_CODES[code].status });
    } else if (code === "context_length_exceeded" || failure.endedBy) {
      log.info(reason, fields);
    } else {
      log.warn("chat: the model server failed", { ...fields, reason });
    }
  }

  #logFields({ request, caller, model, user }: PreparedChat) {
    const { account_id, key_id } = caller;
    // The same text from two accounts means two users.
    const text = user === null ? undefined : `${accountOf(caller)} ${user}`;
    const hash = text === undefined ? undefined : this.#options.hashUser(text);
    return {
      ...requestLogFields(request),
      account_id,
      key_id,
      user: hash,
      model: model.settings.id,
    };
  }
}

export function requestLogFields(request: Pick<ModelRequest, "request_id" | "trace">) {
  return { request_id: request.request_id, trace_id: traceIdOf(request.trace) };
}
