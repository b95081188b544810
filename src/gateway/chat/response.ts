// The HTTP responses of chats: one JSON reply, or the start of an event stream.
import { type HandlerReply, openEventStream } from "../../http/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { CallerBudgets } from "../budgets/caller-budgets.ts";
import { writeServerTiming } from "../server-timing.ts";
import type { AdmittedChat } from "./admit.ts";
import { createChunkWriter } from "./chunks.ts";
import { type ChatExecution, requestLogFields } from "./execution.ts";
import { errorOfCompletion } from "./failure.ts";
import { writeChatReply } from "./reply.ts";
import { type StreamOptions, writeStream } from "./stream.ts";

export interface ChatResponderOptions
  extends Pick<StreamOptions, "clock" | "running" | "keys" | "status"> {
  alias: string;
  budgets: Pick<CallerBudgets, "writeHeaders">;
  ids: Ids;
  log: Log;
}

export function createResponder(execution: ChatExecution, options: ChatResponderOptions) {
  const { alias, budgets, clock, ids, log, status } = options;
  /** gateway.resources.reply.p2: the model is always the alias. */
  const identify = () => {
    const created = Math.floor(clock.now() / 1000);
    return { id: `chatcmpl-${ids.token(24)}`, created, model: alias };
  };

  const showLimits = ({ caller }: AdmittedChat) => caller.limits && budgets.writeHeaders(caller);

  return {
    async json(chat: AdmittedChat, signal: AbortSignal): Promise<HandlerReply> {
      const result = await execution.completeWhole(chat, signal);
      if (!result.ok) throw errorOfCompletion(result, chat);
      const totalMs = clock.monotonic() - chat.recorder.started_at;
      const timing = writeServerTiming(totalMs, result.durationMs, result.waitedMs);
      const reply = writeChatReply(identify(), result.message, result);
      const shown = await showLimits(chat);
      return [status, reply, { ...chat.successHeaders, ...shown, "server-timing": timing }];
    },

    async stream(
      chat: AdmittedChat,
      signal: AbortSignal,
      hasUsage: boolean,
    ): Promise<HandlerReply> {
      const onBug = (error: unknown) =>
        log.error("chat: a stream failed", { ...requestLogFields(chat.request), error });
      const stream = openEventStream(signal, onBug);
      const { id, created, model } = identify();
      const failure = await writeStream(stream, chat, {
        ...options,
        chunks: createChunkWriter(id, created, model),
        hasUsage,
        onFailure: (failure) => execution.logFailure(failure, chat),
        onBug,
      });
      if (failure) throw errorOfCompletion(failure, chat);
      const { request_id } = chat.request;
      const shown = await showLimits(chat);
      const headers = { ...chat.successHeaders, ...shown, "x-request-id": request_id };
      return stream.answer(status, headers);
    },
  };
}
