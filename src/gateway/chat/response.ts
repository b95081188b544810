// The HTTP responses of chats in any format: one JSON reply, or the start of an event stream.
import {
  type ApiDialect,
  type HandlerReply,
  idHeaders,
  openEventStream,
} from "../../http/index.ts";
import type { Log } from "../../platform/log.ts";
import type { CallerBudgets } from "../budgets/caller-budgets.ts";
import { writeServerTiming } from "../server-timing.ts";
import type { AdmittedChat } from "./admit.ts";
import { type ChatExecution, requestLogFields, type WholeReply } from "./execution.ts";
import { errorOfCompletion } from "./failure.ts";
import { type StreamOptions, type StreamWriter, writeStream } from "./stream.ts";

export interface ChatResponderOptions
  extends Pick<StreamOptions, "clock" | "running" | "keys" | "status"> {
  dialect?: ApiDialect;
  budgets: Pick<CallerBudgets, "writeHeaders">;
  log: Log;
}

export function createResponder(execution: ChatExecution, options: ChatResponderOptions) {
  const { budgets, clock, dialect, log, status } = options;
  const showLimits = ({ caller }: AdmittedChat) => caller.limits && budgets.writeHeaders(caller);

  return {
    async json(
      chat: AdmittedChat,
      signal: AbortSignal,
      write: (reply: WholeReply) => object,
    ): Promise<HandlerReply> {
      const result = await execution.completeWhole(chat, signal);
      if (!result.ok) throw errorOfCompletion(result, chat);
      const totalMs = clock.monotonic() - chat.recorder.started_at;
      const timing = writeServerTiming(totalMs, result.durationMs, result.waitedMs);
      const reply = write(result);
      const shown = await showLimits(chat);
      return [status, reply, { ...chat.successHeaders, ...shown, "server-timing": timing }];
    },

    async stream(
      chat: AdmittedChat,
      signal: AbortSignal,
      writer: StreamWriter,
    ): Promise<HandlerReply> {
      const onBug = (error: unknown) =>
        log.error("chat: a stream failed", { ...requestLogFields(chat.request), error });
      const stream = openEventStream(signal, onBug);
      const failure = await writeStream(stream, chat, {
        ...options,
        writer,
        onFailure: (failure) => execution.logFailure(failure, chat),
        onBug,
      });
      if (failure) throw errorOfCompletion(failure, chat);
      const { request_id } = chat.request;
      const shown = await showLimits(chat);
      const ids = idHeaders(request_id, dialect);
      return stream.answer(status, { ...chat.successHeaders, ...shown, ...ids });
    },
  };
}
