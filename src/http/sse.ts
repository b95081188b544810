// Server-sent events out, to one caller; who does not read holds the source back.

/** What may wait unread for one caller before the source is held back. */
const UNREAD_BYTES_MAX = 64 * 1024;
const encoder = new TextEncoder();

/** The headers of a stream; proxies in between must neither keep nor gather it. */
const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export interface EventStream {
  /** The reply that carries the stream. */
  answer(status: number, headers: Record<string, string>): Response;
  /** Sends `data: <json>`; a promise says that the caller reads slowly: wait for it. */
  send(json: string): void | Promise<void>;
  /** Sends a comment, which clients skip. */
  comment(text: string): void;
  /** Ends the stream; what was sent before still arrives. */
  close(): void;
  /** Aborts when the caller leaves. */
  readonly left: AbortSignal;
}

/** Opens a stream; `request_signal` and the body's own cancel both tell that the caller left. */
export function openEventStream(request_signal: AbortSignal): EventStream {
  const leaving = new AbortController();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let isOpen = true;
  let drain: PromiseWithResolvers<void> | null = null;
  const resume = () => {
    drain?.resolve();
    drain = null;
  };
  const leave = () => {
    isOpen = false;
    resume();
    leaving.abort();
  };
  // Bun fires one or the other, depending on how far the reply has come.
  if (request_signal.aborted) leave();
  request_signal.addEventListener("abort", leave, { once: true });
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: resume,
      cancel: leave,
    },
    { highWaterMark: UNREAD_BYTES_MAX, size: (chunk) => chunk?.byteLength ?? 0 },
  );
  const write = (text: string): void | Promise<void> => {
    if (!isOpen) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 1) > 0) return;
    drain ??= Promise.withResolvers();
    return drain.promise;
  };
  return {
    answer(status, headers) {
      return new Response(body, { status, headers: { ...headers, ...EVENT_STREAM_HEADERS } });
    },
    send: (json) => write(`data: ${json}\n\n`),
    comment: (text) => void write(`: ${text}\n\n`),
    close() {
      request_signal.removeEventListener("abort", leave);
      if (!isOpen) return;
      isOpen = false;
      controller.close();
    },
    left: leaving.signal,
  };
}
