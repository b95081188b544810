// Relays an answer to the caller, as one JSON reply or as a stream, and says what became of it.
import { accountOf, type KeyWatch } from "../../access/index.ts";
import { openEventStream, type Reply } from "../../http/index.ts";
import type { Failure } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { type Running, STOPPED, untilStop } from "../running.ts";
import { writeServerTiming } from "../server-timing.ts";
import type { Admitted } from "./admit.ts";
import { createChunkWriter } from "./chunks.ts";
import { refuseFailure } from "./failure.ts";
import { nameAsk, noteFailure } from "./noting.ts";
import { createMessageCollector, writeChatReply } from "./reply.ts";
import { writeStream } from "./stream.ts";

export interface RelayOptions {
  alias: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** A keyed hash, so that a line of the log tells nobody who the end user is. */
  hashUser(text: string): string;
  running: Running;
  /** Ends the stream of a key that was revoked, or has expired. */
  keys: Pick<KeyWatch, "add">;
  /** gateway.endpoints.post_chat_completions: of a whole reply, and of a stream that has begun. */
  status: number;
}

export function createRelay(options: RelayOptions) {
  const { alias, clock, ids, log, hashUser, running, keys, status } = options;
  const nameReply = () => ({
    id: `chatcmpl-${ids.token(24)}`,
    created: Math.floor(clock.now() / 1000),
    // gateway.resources.reply.p2
    model: alias,
  });
  const note = (failure: Failure, admitted: Admitted) => {
    const { caller, user } = admitted;
    // Of two accounts the same text is two users.
    const hashed = user === null ? undefined : hashUser(`${accountOf(caller)} ${user}`);
    noteFailure(log, failure, admitted, hashed);
  };

  return {
    async json(admitted: Admitted, signal: AbortSignal): Promise<Reply> {
      const { ask, answer, tally, success_headers } = admitted;
      const collector = createMessageCollector();
      const asked_at = clock.monotonic();
      const answering = answer(ask, collector.ear, signal);
      const ending = await untilStop(running, answering, STOPPED);
      tally.end(ending);
      if (!ending.ok) {
        note(ending, admitted);
        throw refuseFailure(ending, admitted);
      }
      const now = clock.monotonic();
      const timing = writeServerTiming(now - tally.started_at, now - asked_at, ending.waited_ms);
      const reply = writeChatReply(nameReply(), collector.write(), ending);
      return [status, reply, { ...success_headers, "server-timing": timing }];
    },

    /** `has_usage`: the caller wants the usage as a last chunk. */
    async stream(admitted: Admitted, signal: AbortSignal, has_usage: boolean): Promise<Reply> {
      const { id, created, model } = nameReply();
      const chunks = createChunkWriter(id, created, model);
      const onBug = (error: unknown) =>
        log.error("a stream failed", { ...nameAsk(admitted.ask), error });
      const stream = openEventStream(signal, onBug);
      const failure = await writeStream(stream, admitted, {
        chunks,
        has_usage,
        ...{ clock, running, keys, status },
        onFailure: (ending) => note(ending, admitted),
        onBug,
      });
      if (failure) throw refuseFailure(failure, admitted);
      return stream.answer(status, {
        ...admitted.success_headers,
        "x-request-id": admitted.ask.request_id,
      });
    },
  };
}
