// A model server that speaks chat completions: one request to one replica within its time limits.
import {
  type Exchange,
  type FetchFailure,
  type ReplyHead,
  type ReplyListener,
  readRetryAfter,
  type TrustedEgress,
  type TrustedServer,
} from "../../../net/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { guardCallback } from "../../../platform/error-boundary.ts";
import type { Ids } from "../../../platform/ids.ts";
import { type BodyReader, createTextReader, isGood } from "../body.ts";
import type { Completion, ModelRequest, OnRawChunk, RawComplete } from "../contract.ts";
import { RequestTimeouts } from "../timeouts.ts";
import {
  classifyError,
  connectionError,
  invalidReplyError,
  type TimeoutReason,
  timeoutError,
} from "./errors.ts";
import { REPLY_BYTES_MAX, readReply } from "./reply.ts";
import { type RequestForm, writeHeaders, writeRequest, writeRequestHeaders } from "./request.ts";
import { StreamReader } from "./stream.ts";

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

/** Maximum size of an error's body; larger ones are pages of some proxy. */
const ERROR_BYTES_MAX = 65_536;
/** Time for an error's body, since its status says most. */
const ERROR_BODY_MS = 2_000;

/** Opens one replica. Of the caller's headers it gets the request's id and trace only. */
export function createOpenaiProvider(options: OpenaiProviderOptions): RawComplete {
  const url = `${options.url.replace(/\/$/, "")}/chat/completions`;
  const { connect_timeout_ms: connectTimeoutMs } = options;
  const server = options.egress.open(url, { headers: writeHeaders(options), connectTimeoutMs });
  return (request, onChunk, signal, firstTokenMs = options.first_token_timeout_ms) => {
    if (signal.aborted) return Promise.resolve(timeoutError("left"));
    return new ProviderExchange(options, request, onChunk, signal, firstTokenMs).run(server);
  };
}

class ProviderExchange implements ReplyListener {
  readonly #options: OpenaiProviderOptions;
  readonly #request: ModelRequest;
  readonly #onChunk: OnRawChunk;
  readonly #completion = Promise.withResolvers<Completion>();
  readonly #timeouts: RequestTimeouts;
  #exchange: Exchange | null = null;
  #reader: BodyReader | null = null;

  constructor(
    options: OpenaiProviderOptions,
    request: ModelRequest,
    onChunk: OnRawChunk,
    signal: AbortSignal,
    firstTokenMs: number,
  ) {
    this.#options = options;
    this.#request = request;
    this.#onChunk = onChunk;
    const onCut = guardCallback(this.onBug, (cut: TimeoutReason) => this.#cutOff(cut));
    this.#timeouts = new RequestTimeouts(options.clock, signal, firstTokenMs, onCut);
  }

  run(server: TrustedServer): Promise<Completion> {
    const request = this.#request;
    try {
      const body = writeRequest(request, this.#options);
      this.#exchange = server.post(body, writeRequestHeaders(request), this, request.account);
    } catch (bug) {
      this.onBug(bug);
    }
    return this.#completion.promise;
  }

  onHead(head: ReplyHead): void {
    this.#reader = this.#openReader(head);
  }

  onBody(bytes: Buffer): void {
    this.#reader!.take(bytes);
  }

  onEnd(): void {
    this.#reader!.end();
  }

  onFailure(failure: FetchFailure): void {
    const error = connectionError(failure);
    const reader = this.#reader;
    this.#settle(reader ? reader.breakOff(error, null) : { ...error, noResponse: "surely" });
  }

  readonly onBug = (bug: unknown) => {
    this.#leave();
    this.#completion.reject(bug);
  };

  #openReader(head: ReplyHead): BodyReader {
    if (!isGood(head.status)) return this.#openErrorReader(head);
    const { ids, stall_timeout_ms } = this.#options;
    const context = {
      request: this.#request,
      onChunk: this.#onChunk,
      ids,
      timeouts: this.#timeouts,
      stall_timeout_ms,
      exchange: this.#exchange!,
      settle: (completion: Completion | Promise<Completion>) => this.#settle(completion),
      finish: this.#completion.resolve,
      fail: this.onBug,
    };
    if (isStream(this.#request, head)) return new StreamReader(head, context);
    return createTextReader(head, {
      bytesMax: REPLY_BYTES_MAX,
      onText: (text) => {
        // The reply has arrived; only `onChunk` is pending.
        this.#timeouts.end();
        this.#settle(readReply(text, context));
      },
      onUnreadable: (problem) => {
        const says = problem === "large" ? "is larger than 16 MB" : "cannot be unpacked";
        this.#settle(invalidReplyError(`its reply ${says}`));
      },
      breakOff: (failure) => failure,
    });
  }

  #openErrorReader(head: ReplyHead): BodyReader {
    this.#timeouts.allow(ERROR_BODY_MS);
    const classify = (text: string) => {
      const failure = classifyError(head.status, text);
      // Only runs wait that long; another replica may serve an HTTP caller at once.
      const mayWait = head.status === 429 || head.status === 503;
      const retryAfter = mayWait ? (head.header("retry-after") ?? null) : null;
      const retryAfterMs = readRetryAfter(retryAfter, this.#options.clock);
      if (retryAfterMs !== null) failure.retryAfterMs = retryAfterMs;
      return failure;
    };
    return createTextReader(head, {
      bytesMax: ERROR_BYTES_MAX,
      onText: (text) => this.#settle(classify(text)),
      onUnreadable: () => this.#settle(classify("")),
      // The status counts even without its body.
      breakOff: (failure, cut) => (cut === "left" ? failure : classify("")),
    });
  }

  #cutOff(cut: TimeoutReason): void {
    const error = timeoutError(cut);
    if (!this.#reader && cut === "late") {
      error.noResponse = this.#request.stream ? "surely" : "perhaps";
    }
    this.#settle(this.#reader ? this.#reader.breakOff(error, cut) : error);
  }

  #settle(completion: Completion | Promise<Completion>): void {
    this.#leave();
    this.#completion.resolve(completion);
  }

  #leave(): void {
    this.#timeouts.end();
    this.#exchange?.cut();
  }
}

/** A server that cannot stream sends one JSON reply even when a stream was requested. */
function isStream(request: ModelRequest, head: ReplyHead): boolean {
  return request.stream && !/^application\/json/i.test(head.header("content-type") ?? "");
}
