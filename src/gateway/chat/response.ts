// Relays an answer to the caller, as one JSON reply or as a stream, and says what became of it.
import { accountOf, type KeyRevocations } from "../../access/index.ts";
import { type HandlerReply, openEventStream } from "../../http/index.ts";
import type { UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { type InFlight, STOPPED, untilStop } from "../in-flight.ts";
import { writeServerTiming } from "../server-timing.ts";
import type { AdmittedChat } from "./admit.ts";
import { createChunkWriter } from "./chunks.ts";
import { errorOfCompletion } from "./failure.ts";
import { logFailure, requestLogFields } from "./failure-log.ts";
import { createMessageCollector, writeChatReply } from "./reply.ts";
import { writeStream } from "./stream.ts";

export interface ChatResponderOptions {
  alias: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** A keyed hash, so that a line of the log tells nobody who the end user is. */
  hashUser(text: string): string;
  running: InFlight;
  /** Ends the stream of a key that was revoked, or has expired. */
  keys: Pick<KeyRevocations, "add">;
  /** gateway.endpoints.post_chat_completions: of a whole reply, and of a stream that has begun. */
  status: number;
}

export function createChatResponder(options: ChatResponderOptions) {
  const { alias, clock, ids, log, hashUser, running, keys, status } = options;
  const nameReply = () => ({
    id: `chatcmpl-${ids.token(24)}`,
    created: Math.floor(clock.now() / 1000),
    // gateway.resources.reply.p2
    model: alias,
  });
  const note = (failure: UpstreamError, admitted: AdmittedChat) => {
    const { caller, user } = admitted;
    // Of two accounts the same text is two users.
    const hashed = user === null ? undefined : hashUser(`${accountOf(caller)} ${user}`);
    logFailure(log, failure, admitted, hashed);
  };

  return {
    async json(admitted: AdmittedChat, signal: AbortSignal): Promise<HandlerReply> {
      const { request: ask, answer, recorder, successHeaders } = admitted;
      const collector = createMessageCollector();
      const asked_at = clock.monotonic();
      const answering = answer(ask, collector.onChunk, signal);
      const ending = await untilStop(running, answering, STOPPED);
      recorder.setResult(ending);
      if (!ending.ok) {
        note(ending, admitted);
        throw errorOfCompletion(ending, admitted);
      }
      const now = clock.monotonic();
      const timing = writeServerTiming(now - recorder.started_at, now - asked_at, ending.waitedMs);
      const reply = writeChatReply(nameReply(), collector.write(), ending);
      return [status, reply, { ...successHeaders, "server-timing": timing }];
    },

    /** `hasUsage`: the caller wants the usage as a last chunk. */
    async stream(
      admitted: AdmittedChat,
      signal: AbortSignal,
      hasUsage: boolean,
    ): Promise<HandlerReply> {
      const { id, created, model } = nameReply();
      const chunks = createChunkWriter(id, created, model);
      const onBug = (error: unknown) =>
        log.error("a stream failed", { ...requestLogFields(admitted.request), error });
      const stream = openEventStream(signal, onBug);
      const failure = await writeStream(stream, admitted, {
        chunks,
        hasUsage,
        ...{ clock, running, keys, status },
        onFailure: (ending) => note(ending, admitted),
        onBug,
      });
      if (failure) throw errorOfCompletion(failure, admitted);
      return stream.answer(status, {
        ...admitted.successHeaders,
        "x-request-id": admitted.request.request_id,
      });
    },
  };
}
