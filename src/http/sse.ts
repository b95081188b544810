// Server-sent events to one caller; a slow reader holds the source back.
import type { Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";

/** Maximum unread characters before the source is held back. */
const UNREAD_MAX = 64 * 1024;

/** Headers by which proxies neither store nor buffer the stream. */
const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export class EventStream {
  readonly #request: AbortSignal;
  readonly #onBug: (bug: unknown) => void;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #leaving = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  readonly #body: ReadableStream;
  #sink: ReadableStreamDirectController | undefined;
  #isOpen = true;
  /** The socket takes no more until the caller reads. */
  #isFull = true;
  /** Collects the writes of a turn, and waits for a slow caller. */
  #unsent = "";
  #sentBytes = 0;
  #writtenBytes = 0;
  #drain: PromiseWithResolvers<void> | undefined;
  readonly #leave = () => {
    this.#isOpen = false;
    this.#over.resolve();
    this.breakOff();
  };
  readonly #flush = this.#guard(() => this.#writeUnsent());

  constructor(
    request: AbortSignal,
    onBug: (bug: unknown) => void,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#request = request;
    this.#onBug = onBug;
    this.#headers = headers;
    // Bun fires this signal or the body's cancel, depending on how far the reply has come.
    if (request.aborted) this.#leave();
    request.addEventListener("abort", this.#leave, { once: true });
    const begin = this.#guard((sink: ReadableStreamDirectController) => this.#begin(sink));
    // A direct stream: the queue of an ordinary one costs a tenth of all work for a chunk.
    const pull = (sink: ReadableStreamDirectController) => {
      begin(sink);
      return this.#over.promise;
    };
    this.#body = new ReadableStream({ type: "direct", pull, cancel: this.#leave });
  }

  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  answer(status: number, headers: Record<string, string>): Response {
    const own = this.#headers;
    // Callers may forbid caches more, and change nothing else.
    const cache = headers["cache-control"] ?? own["cache-control"]!;
    return new Response(this.#body, {
      status,
      headers: { ...headers, ...own, "cache-control": cache },
    });
  }

  /** Sends `data: <json>`; wait for a returned promise, as the caller reads slowly. */
  send(json: string): void | Promise<void> {
    return this.pass(writeFrame(json));
  }

  pass(frames: string): void | Promise<void> {
    if (!this.#isOpen) return;
    if (this.#unsent === "") queueMicrotask(this.#flush);
    this.#unsent += frames;
    if (this.#unsent.length < UNREAD_MAX) return;
    this.#drain ??= Promise.withResolvers();
    return this.#drain.promise;
  }

  comment(text: string): void {
    void this.pass(`: ${text}\n\n`);
  }

  /** Ends the stream; what was sent before still arrives. */
  close(): void {
    this.#request.removeEventListener("abort", this.#leave);
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#sentBytes += Buffer.byteLength(this.#unsent);
    this.#resume();
    this.#guard(() => this.#end())();
  }

  /** Aborts `left` although the caller is connected and still receives what is sent. */
  breakOff(): void {
    this.#resume();
    this.#leaving.abort();
  }

  /** Counts bytes handed to the socket; after a close, all bytes. */
  countSent(): number {
    return this.#sentBytes;
  }

  /** Counts characters and bytes that wait for the caller, without those the socket has taken. */
  countUnread(): number {
    return (this.#isFull ? this.#writtenBytes : 0) + this.#unsent.length;
  }

  #begin(sink: ReadableStreamDirectController): void {
    this.#sink = sink;
    if (this.#isOpen) this.#goOn();
    else this.#end();
  }

  #writeUnsent(): void {
    if (this.#isFull || !this.#isOpen || this.#unsent === "") return;
    this.#writtenBytes = Buffer.byteLength(this.#unsent);
    this.#sentBytes += this.#writtenBytes;
    // The sink takes the text in any case; a promise means that the caller must read first.
    const taken = this.#sink!.write(this.#unsent);
    this.#unsent = "";
    if (taken instanceof Promise) {
      this.#isFull = true;
      taken.then(() => this.#goOn(), this.#leave);
    } else {
      void this.#sink!.flush();
      this.#resume();
    }
  }

  #goOn(): void {
    this.#isFull = false;
    if (this.#unsent === "") this.#resume();
    else this.#flush();
  }

  #end(): void {
    if (this.#unsent !== "") void this.#sink?.write(this.#unsent);
    this.#sink?.close();
    if (this.#sink) this.#over.resolve();
  }

  #resume(): void {
    this.#drain?.resolve();
    this.#drain = undefined;
  }

  #guard<Given extends unknown[]>(run: (...given: Given) => void) {
    const fail = (bug: unknown) => {
      this.#onBug(bug);
      this.#leave();
    };
    return guardCallback(fail, run);
  }
}

/**
 * Opens a stream of events, or of other text for `pass` only if `headers` say so. Errors in Bun's
 * callbacks end the stream and go to `onBug`; Bun itself would drop them.
 */
export function openEventStream(
  request: AbortSignal,
  onBug: (bug: unknown) => void,
  headers: Readonly<Record<string, string>> = EVENT_STREAM_HEADERS,
): EventStream {
  return new EventStream(request, onBug, headers);
}

export function writeFrame(json: string): string {
  return `data: ${json}\n\n`;
}

/** A frame with the name of its event beside the data. */
export function writeNamedFrame(name: string, json: string): string {
  return `event: ${name}\n${writeFrame(json)}`;
}

/** gateway.limits.keep_alive, agents.limits.stream_idle_comment */
const KEEP_ALIVE_MS = 15_000;

/** Calls `run` after each silence of KEEP_ALIVE_MS; `end` reports that something was sent. */
export function watchIdle(clock: Clock, run: () => void) {
  let brokenAt = clock.monotonic();
  let isOver = false;
  // One timer that checks again costs less than a new one for each chunk.
  const check = () => {
    if (clock.monotonic() - brokenAt >= KEEP_ALIVE_MS) {
      run();
      brokenAt = clock.monotonic();
    }
    // `run` may have stopped it.
    if (isOver) return;
    cancel = clock.after(brokenAt + KEEP_ALIVE_MS - clock.monotonic(), check);
  };
  let cancel = clock.after(KEEP_ALIVE_MS, check);
  return {
    end() {
      brokenAt = clock.monotonic();
    },
    stop() {
      isOver = true;
      cancel();
    },
  };
}
