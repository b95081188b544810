// A server that speaks chat completions: one request to one replica, with its time limits.

import {
  type Exchange,
  type ReplyHead,
  type ReplyListener,
  readRetryAfter,
  type TrustedEgress,
} from "../../../net/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { guardCallback } from "../../../platform/error-boundary.ts";
import type { Ids } from "../../../platform/ids.ts";
import { type BodyReader, createTextReader } from "../body.ts";
import type { Completion, ModelRequest, RawComplete } from "../contract.ts";
import { createRequestTimeouts, type TimeoutReason } from "../timeouts.ts";
import { classifyError, connectionError, invalidReplyError, timeoutError } from "./errors.ts";
import { REPLY_BYTES_MAX, readReply } from "./reply.ts";
import { type RequestForm, writeHeaders, writeRequest, writeRequestHeaders } from "./request.ts";
import { createStreamReader, type StreamReading } from "./stream.ts";

export interface OpenaiProviderOptions extends RequestForm {
  /** Up to and with `/v1`. */
  url: string;
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  connect_timeout_ms: number;
  first_token_timeout_ms: number;
  stall_timeout_ms: number;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** An error's body beyond this is not read: it is some page of a proxy in between. */
const ERROR_BYTES_MAX = 65_536;
/** Its status says most: nobody waits long for the words. */
const ERROR_BODY_MS = 2_000;

/** One replica. Of the caller's own headers only its id and its trace go with the request. */
export function createOpenaiProvider(options: OpenaiProviderOptions): RawComplete {
  const { clock, ids, connect_timeout_ms, stall_timeout_ms } = options;
  const url = `${options.url.replace(/\/$/, "")}/chat/completions`;
  const server = options.egress.open(url, {
    headers: writeHeaders(options),
    connect_timeout_ms,
  });

  return (request, onChunk, signal, first_token_ms = options.first_token_timeout_ms) => {
    if (signal.aborted) return Promise.resolve(timeoutError("left"));
    const { promise, resolve, reject } = Promise.withResolvers<Completion>();
    let reader: BodyReader | null = null;
    let exchange: Exchange | null = null;
    const leave = () => {
      watch.end();
      exchange?.cut();
    };
    const settle = (ending: Completion | Promise<Completion>) => {
      leave();
      resolve(ending);
    };
    const fail = (bug: unknown) => {
      leave();
      reject(bug);
    };
    const cutOff = (cut: TimeoutReason) => {
      const why = timeoutError(cut);
      if (reader) return settle(reader.breakOff(why, cut));
      if (cut === "late") why.noResponse = request.stream ? "surely" : "perhaps";
      settle(why);
    };
    const watch = createRequestTimeouts(clock, signal, first_token_ms, guardCallback(fail, cutOff));
    const listener: ReplyListener = {
      onHead(head) {
        const around = { request, onChunk, ids, watch, stall_timeout_ms, exchange: exchange! };
        reader = chooseReader(head, { ...around, settle, finish: resolve, fail }, clock);
      },
      onBody: (bytes) => reader!.take(bytes),
      onEnd: () => reader!.end(),
      onFailure(failure) {
        const why = connectionError(failure);
        settle(reader ? reader.breakOff(why, null) : { ...why, noResponse: "surely" });
      },
      onBug: fail,
    };
    guardCallback(fail, () => {
      const body = writeRequest(request, options);
      exchange = server.post(body, writeRequestHeaders(request), listener, request.account);
    })();
    return promise;
  };
}

function chooseReader(head: ReplyHead, reading: StreamReading, clock: Clock): BodyReader {
  if (head.status < 200 || head.status > 299) return createErrorReader(head, reading, clock);
  if (isStream(reading.request, head)) return createStreamReader(head, reading);
  const { watch, settle } = reading;
  return createTextReader(head, {
    bytes_max: REPLY_BYTES_MAX,
    judge(text) {
      // Nobody is waited for any more: the reply is here.
      watch.end();
      settle(readReply(text, reading));
    },
    onTooLarge: () => settle(invalidReplyError("its reply is larger than 16 MB")),
    onPacked: () => settle(invalidReplyError("its reply cannot be unpacked")),
    breakOff: (why) => why,
  });
}

/** A reply that is no success; its body may say more than its status. */
function createErrorReader(
  head: ReplyHead,
  { settle, watch }: StreamReading,
  clock: Clock,
): BodyReader {
  watch.allow(ERROR_BODY_MS);
  const judge = (text: string) => {
    const failure = classifyError(head.status, text);
    // A caller is not told, for another replica may take it at once; a run waits so long.
    const mayTell = head.status === 429 || head.status === 503;
    const wait_ms = mayTell ? readRetryAfter(head.header("retry-after") ?? null, clock) : null;
    if (wait_ms !== null) failure.retryAfterMs = wait_ms;
    return failure;
  };
  return createTextReader(head, {
    bytes_max: ERROR_BYTES_MAX,
    judge: (text) => settle(judge(text)),
    onTooLarge: () => settle(judge("")),
    onPacked: () => settle(judge("")),
    // Half an error's body, or one that never comes, says as much as none: the status stands.
    breakOff: (why, cut) => (cut === "left" ? why : judge("")),
  });
}

/** A server that cannot stream answers whole, whatever it was asked. */
function isStream(request: ModelRequest, head: ReplyHead): boolean {
  return request.stream && !/^application\/json/i.test(head.header("content-type") ?? "");
}
