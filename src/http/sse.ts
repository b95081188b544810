// Server-sent events out, to one caller; who does not read holds the source back.
import type { Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";

/** What may wait unread for one caller before the source is held back. */
const UNREAD_MAX = 64 * 1024;

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
  /** The same of frames that are written already, as they stand: for who sends them to many. */
  pass(frames: string): void | Promise<void>;
  /** Sends a comment, which clients skip. */
  comment(text: string): void;
  /** Ends the stream; what was sent before still arrives. */
  close(): void;
  /** Aborts `left` although the caller is there; what is sent from then on arrives. */
  breakOff(): void;
  /** Aborts when the caller leaves. */
  readonly left: AbortSignal;
  /** Bytes that were handed to the socket; behind a close, also those that are on their way. */
  countSent(): number;
  /** About so many bytes wait for the caller to read: what the socket has taken is not counted. */
  countUnread(): number;
}

/**
 * Opens a stream; `request_signal` and the body's own cancel both tell that the caller left. Other
 * headers make it one of other text, of which `pass` alone is of use. `onBug` hears what a callback
 * of Bun's throws, by which the stream ends: of a direct stream's `pull` nobody else does.
 */
export function openEventStream(
  request_signal: AbortSignal,
  onBug: (bug: unknown) => void,
  streamHeaders: Readonly<Record<string, string>> = EVENT_STREAM_HEADERS,
): EventStream {
  const leaving = new AbortController();
  const over = Promise.withResolvers<void>();
  /** The way to the socket; null: the reply has not gone out yet. */
  let sink: ReadableStreamDirectController | null = null;
  let isOpen = true;
  /** The socket takes nothing more until its caller reads. */
  let isFull = true;
  /** What waits for the end of this turn, where it goes out together, or for the caller. */
  let unsent = "";
  let sent_bytes = 0;
  /** Of the last of it. */
  let writtenBytes = 0;
  const { resume, waitForRoom } = createDrain();

  const breakOff = () => {
    resume();
    leaving.abort();
  };
  const leave = () => {
    isOpen = false;
    over.resolve();
    breakOff();
  };
  const fail = (bug: unknown) => {
    onBug(bug);
    leave();
  };
  const flush = guardCallback(fail, () => {
    if (isFull || !isOpen || unsent === "") return;
    writtenBytes = Buffer.byteLength(unsent);
    sent_bytes += writtenBytes;
    // It is taken in any case; a promise says that the caller has to read before there is more.
    const taken = sink!.write(unsent);
    unsent = "";
    if (taken instanceof Promise) {
      isFull = true;
      taken.then(goOn, leave);
    } else {
      void sink!.flush();
      resume();
    }
  });
  const goOn = () => {
    isFull = false;
    unsent === "" ? resume() : flush();
  };
  const end = () => {
    if (unsent !== "") void sink?.write(unsent);
    sink?.close();
    if (sink) over.resolve();
  };
  hearLeaving(request_signal, leave);
  const begin = guardCallback(fail, (given: ReadableStreamDirectController) => {
    sink = given;
    isOpen ? goOn() : end();
  });
  const body = openBody(leave, over.promise, begin);
  const write = (text: string): void | Promise<void> => {
    if (!isOpen) return;
    if (unsent === "") queueMicrotask(flush);
    unsent += text;
    if (unsent.length >= UNREAD_MAX) return waitForRoom();
  };
  return {
    answer: (status, headers) =>
      new Response(body, { status, headers: { ...headers, ...streamHeaders } }),
    send: (json) => write(writeFrame(json)),
    pass: write,
    comment: (text) => void write(`: ${text}\n\n`),
    close() {
      request_signal.removeEventListener("abort", leave);
      if (!isOpen) return;
      isOpen = false;
      sent_bytes += Buffer.byteLength(unsent);
      resume();
      guardCallback(fail, end)();
    },
    breakOff,
    left: leaving.signal,
    countSent: () => sent_bytes,
    countUnread: () => (isFull ? writtenBytes : 0) + unsent.length,
  };
}

/** One event as it stands in a stream. */
export function writeFrame(json: string): string {
  return `data: ${json}\n\n`;
}

/** Bun fires this or the body's cancel, depending on how far the reply has come. */
function hearLeaving(request_signal: AbortSignal, leave: () => void): void {
  if (request_signal.aborted) leave();
  request_signal.addEventListener("abort", leave, { once: true });
}

/** Those who wait until the caller has read. */
function createDrain() {
  let drain: PromiseWithResolvers<void> | null = null;
  return {
    resume() {
      drain?.resolve();
      drain = null;
    },
    waitForRoom() {
      drain ??= Promise.withResolvers();
      return drain.promise;
    },
  };
}

/** Straight to the socket: an ordinary stream's queue costs a tenth of all that a piece costs. */
function openBody(
  cancel: () => void,
  over: Promise<void>,
  begin: (sink: ReadableStreamDirectController) => void,
): ReadableStream {
  const pull = (sink: ReadableStreamDirectController) => {
    begin(sink);
    return over;
  };
  return new ReadableStream({ type: "direct", pull, cancel });
}

/** gateway.limits.keep_alive, agents.limits.stream_idle_comment */
const KEEP_ALIVE_MS = 15_000;

/** Calls `run` whenever nothing was sent for the time of a keep-alive; `end` tells of a sending. */
export function watchIdle(clock: Clock, run: () => void) {
  let brokenAt = clock.monotonic();
  let isOver = false;
  // One timer that looks again, rather than a new one for each chunk.
  const look = () => {
    if (clock.monotonic() - brokenAt >= KEEP_ALIVE_MS) {
      run();
      brokenAt = clock.monotonic();
    }
    // What it called may have ended it.
    if (isOver) return;
    cancel = clock.after(brokenAt + KEEP_ALIVE_MS - clock.monotonic(), look);
  };
  let cancel = clock.after(KEEP_ALIVE_MS, look);
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
