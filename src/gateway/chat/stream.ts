// Writes one answer into an event stream: chunks, keep-alives, its end, errors after the status.
import type { KeyRevocations } from "../../access/index.ts";
import { type EventStream, watchIdle } from "../../http/index.ts";
import type {
  Chunk,
  Completion,
  CompletionOk,
  OnChunk,
  UpstreamError,
} from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { guardCallback } from "../../platform/error-boundary.ts";
import { ApiError, apiError, ERROR_CODES, type ErrorCode } from "../../platform/errors.ts";
import { type InFlight, REVOKED, STOPPED } from "../in-flight.ts";
import type { AdmittedChat } from "./admit.ts";
import { estimateUsage } from "./budget-check.ts";
import { blameModel, errorOfCompletion, nameInBand } from "./failure.ts";
import { createMessageCollector } from "./reply.ts";

/** Writes one answer as the frames of its format. */
export interface StreamWriter {
  /** Frames before all others; may be empty. */
  begin(): string;
  piece(chunk: Chunk): string;
  /** Frames after a silence. */
  keepAlive(): string;
  /** All frames after the last chunk. */
  finish(completion: CompletionOk): string;
  /** All frames after a failure, whose code a stream can carry. */
  fail(error: ApiError, request_id: string): string;
}

export interface StreamOptions {
  writer: StreamWriter;
  clock: Clock;
  running: InFlight;
  keys: Pick<KeyRevocations, "add">;
  /** gateway.endpoints.post_chat_completions: the status of a success. */
  status: number;
  onFailure(failure: UpstreamError): void;
  onBug(failure: unknown): void;
}

/**
 * Starts the answer and resolves when the reply begins: with null for a stream, or with a failure
 * that came first and becomes an ordinary error (gateway.events.4).
 */
export function writeStream(
  stream: EventStream,
  chat: AdmittedChat,
  options: StreamOptions,
): Promise<UpstreamError | null> {
  return new ChatStream(stream, chat, options).begun;
}

class ChatStream {
  readonly #stream: EventStream;
  readonly #chat: AdmittedChat;
  readonly #options: StreamOptions;
  readonly #begun = Promise.withResolvers<UpstreamError | null>();
  readonly #idle: ReturnType<typeof watchIdle>;
  #isBegun = false;
  #broken: UpstreamError | undefined;

  constructor(stream: EventStream, chat: AdmittedChat, options: StreamOptions) {
    this.#stream = stream;
    this.#chat = chat;
    this.#options = options;
    const onBug = (bug: unknown) => this.#abandon(bug);
    // gateway.events.2, gateway.limits.keep_alive
    const keepAlive = () => {
      this.#begin();
      void stream.pass(options.writer.keepAlive());
    };
    this.#idle = watchIdle(options.clock, guardCallback(onBug, keepAlive));
    const leave = options.running.enter(() => this.#breakOff(STOPPED));
    const forget = options.keys.add(chat.caller.key_id, () => this.#breakOff(REVOKED));
    this.#complete()
      .finally(leave)
      .finally(forget)
      .then((completion) => this.#finish(completion))
      .catch((error: unknown) => this.#fail(error))
      .catch(onBug);
  }

  get begun(): Promise<UpstreamError | null> {
    return this.#begun.promise;
  }

  async #complete(): Promise<Completion> {
    const { request, complete, recorder } = this.#chat;
    const collector = recorder.wantsContent ? createMessageCollector() : null;
    const onChunk: OnChunk = (chunk) => {
      this.#begin();
      recorder.markFirstChunk();
      void collector?.onChunk(chunk);
      return this.#send(this.#options.writer.piece(chunk));
    };
    recorder.markAsked();
    const completion = await complete(request, onChunk, this.#stream.left);
    if (collector) recorder.setContent({ input: request.messages, output: collector.write() });
    const endedAsLeft = !completion.ok && completion.code === "client_closed_request";
    return this.#broken && endedAsLeft ? { ...completion, ...this.#broken } : completion;
  }

  /** Ends the pipeline as if the caller had left, but sends this caller the reason. */
  #breakOff(failure: UpstreamError): void {
    this.#broken ??= failure;
    this.#stream.breakOff();
  }

  #begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#begun.resolve(null);
    const frames = this.#options.writer.begin();
    if (frames !== "") void this.#send(frames);
  }

  #send(frames: string) {
    this.#idle.end();
    return this.#stream.pass(frames);
  }

  #finish(completion: Completion): void {
    const { writer, onFailure } = this.#options;
    this.#chat.recorder.setResult(estimateUsage(completion, this.#chat.request));
    if (!completion.ok) {
      onFailure(completion);
      if (this.#isBegun) this.#sendError(errorOfCompletion(completion, this.#chat));
      else this.#endUnbegun(() => this.#begun.resolve(completion));
      return;
    }
    this.#begin();
    void this.#send(writer.finish(completion));
    this.#close(null);
  }

  #fail(error: unknown): void {
    // Before the stream begins, the router answers bugs and ApiErrors.
    if (!this.#isBegun) this.#endUnbegun(() => this.#begun.reject(error));
    else if (error instanceof ApiError) this.#finish(blameModel(error));
    else {
      this.#options.onBug(error);
      this.#sendError(apiError("upstream_error"));
    }
  }

  #sendError(error: ApiError): void {
    const shown = nameInBand(error);
    this.#chat.recorder.explain(error);
    void this.#send(this.#options.writer.fail(shown, this.#chat.request.request_id));
    this.#close(error.code === "client_closed_request" ? error.code : shown.code);
  }

  #close(code: ErrorCode | null): void {
    this.#idle.stop();
    this.#stream.close();
    // A caller that has left gets nothing; others got the stream's status.
    const endedAsLeft = code === "client_closed_request";
    const status = endedAsLeft ? ERROR_CODES[code].status : this.#options.status;
    this.#chat.recorder.close(status, code, this.#stream.countSent());
  }

  #endUnbegun(settle: () => void): void {
    this.#idle.stop();
    this.#stream.close();
    settle();
  }

  /** After a bug in writing the end, nothing more can be written. */
  #abandon(bug: unknown): void {
    if (this.#isBegun) this.#options.onBug(bug);
    this.#endUnbegun(() => this.#begun.reject(bug));
  }
}
