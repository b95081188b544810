// One connection to a server: sends a request at a time and reads its reply.
import { guardCallback } from "../platform/error-boundary.ts";
import type { FetchFailure } from "./failure.ts";
import type { ReplyHead } from "./http-head.ts";
import { createReplyReader, type ReplyEvents, type ReplyReader } from "./http-reply.ts";

/** Hears what becomes of a request: the reply and its end, or why there is none. */
export interface ReplyListener extends ReplyEvents {
  onEnd(): void;
  /** The last that is heard, also in the middle of a reply. */
  onFailure(failure: FetchFailure): void;
  /** In place of any other end: one of these threw, or what reads for it. */
  onBug(bug: unknown): void;
}

export interface ConnectionOwner {
  /** The reply is whole, and the next request may be sent. */
  onFree(connection: HttpConnection): void;
  /** It is closed, or will be in a moment. */
  onGone(connection: HttpConnection): void;
  /** More came than was asked for: whose it is cannot be known. It is closed behind this. */
  onSurplus(connection: HttpConnection): void;
  /** A bug, while no request was under way. */
  onBug(bug: unknown): void;
}

export interface SendOptions {
  /** Told in place of a reset that came before any reply. */
  onStale?: (() => void) | undefined;
  /** Whether a reply can be the one to this request; left out: it must be. */
  isExpected?: ((head: ReplyHead) => boolean) | undefined;
}

export class HttpConnection implements ReplyEvents {
  readonly #socket: Bun.Socket;
  readonly #owner: ConnectionOwner;
  /** Whose request is under way; null: it is idle, or was cut. */
  #listener: ReplyListener | null = null;
  #reader: ReplyReader | null = null;
  #options: SendOptions = {};
  /** What the socket would not take yet. */
  #unsent: Buffer | null = null;
  #isPaused = false;
  #isGone = false;

  constructor(socket: Bun.Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
  }

  send(request: Buffer, listener: ReplyListener, options: SendOptions = {}): void {
    this.#listener = listener;
    this.#options = options;
    this.#reader = createReplyReader(this);
    this.#write(request);
  }

  /** Breaks off at once, so that the server learns of it; the listener hears nothing any more. */
  cut(listener: ReplyListener): void {
    if (this.#listener !== listener) return;
    this.#forget();
    this.#breakOff();
  }

  /** Reads nothing more from the socket until `resume`; what was read already is still told. */
  pause(listener: ReplyListener): void {
    if (this.#listener !== listener || this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(listener: ReplyListener): void {
    if (this.#listener === listener) this.#resume();
  }

  /** Closes a connection without a request. */
  close(): void {
    this.#leave();
    this.#socket.end();
  }

  /** Closes it, also under a reply, whose listener hears that it was broken off. */
  end(): void {
    this.takeClose("other");
    this.#socket.terminate();
  }

  onHead(head: ReplyHead): void {
    const { isExpected } = this.#options;
    if (!isExpected || isExpected(head)) this.#listener?.onHead(head);
    else {
      this.#owner.onSurplus(this);
      this.end();
    }
  }

  onBody(bytes: Buffer): void {
    this.#listener?.onBody(bytes);
  }

  /** The socket has read these bytes; what is thrown then is caught here, at the least cost. */
  takeBytes(bytes: Buffer): void {
    try {
      this.#read(bytes);
    } catch (bug) {
      this.takeBug(bug);
    }
  }

  /** The socket has room again. */
  takeDrain(): void {
    if (this.#unsent) this.#write(this.#unsent);
  }

  /** The socket is closed, or of no use any more; null: the server closed it in good order. */
  takeClose(failure: FetchFailure | null): void {
    this.#leave();
    if (!this.#listener) return;
    if (failure === null && this.#reader!.endsWithClose) this.#finish();
    else this.#fail(failure ?? "reset");
  }

  /** What was called for this connection threw: it and its request end, and nothing else does. */
  takeBug(bug: unknown): void {
    const listener = this.#forget();
    this.#breakOff();
    (listener ?? this.#owner).onBug(bug);
  }

  #read(bytes: Buffer): void {
    // Nobody asked.
    if (!this.#listener && !this.#isGone) this.#owner.onSurplus(this);
    const state = this.#reader?.take(bytes);
    // Here it may have been cut meanwhile.
    if (!this.#listener) this.#breakOff();
    else if (state === "whole") this.#finish();
    else if (state === "broken") this.end();
  }

  #write(bytes: Buffer): void {
    const written = this.#socket.write(bytes);
    // A socket that takes nothing any more tells so by its close.
    this.#unsent = written < bytes.length ? bytes.subarray(Math.max(0, written)) : null;
  }

  #finish(): void {
    const { isKept, hasSurplus } = this.#reader!;
    // A server that answers before it was told everything does not wait for the rest.
    const isHalfSent = this.#unsent !== null;
    const listener = this.#forget()!;
    if (hasSurplus) this.#owner.onSurplus(this);
    if (isHalfSent) this.#breakOff();
    else if (isKept && !this.#isGone) {
      this.#resume();
      this.#owner.onFree(this);
    } else this.close();
    this.#tell(listener, () => listener.onEnd());
  }

  #fail(failure: FetchFailure): void {
    const isStale = failure === "reset" && !this.#reader!.hasBegun;
    const onStale = isStale ? this.#options.onStale : undefined;
    const listener = this.#forget()!;
    this.#tell(listener, onStale ?? (() => listener.onFailure(failure)));
  }

  /** The last word of a request, which the connection knows no more. */
  #tell(listener: ReplyListener, say: () => void): void {
    guardCallback((bug) => listener.onBug(bug), say)();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #forget(): ReplyListener | null {
    const listener = this.#listener;
    this.#listener = null;
    this.#reader = null;
    this.#options = {};
    this.#unsent = null;
    return listener;
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#owner.onGone(this);
  }

  #breakOff(): void {
    this.#leave();
    this.#socket.terminate();
  }
}
