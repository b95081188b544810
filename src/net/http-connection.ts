// One connection to a server: sends one request at a time and reads its reply.
import { guardCallback } from "../platform/error-boundary.ts";
import type { FetchFailure } from "./failure.ts";
import type { ReplyHead } from "./http-head.ts";
import { type ReplyEvents, ReplyReader } from "./http-reply.ts";

export interface ReplyListener extends ReplyEvents {
  onEnd(): void;
  /** Last call for a request, possibly in the middle of its reply. */
  onFailure(failure: FetchFailure): void;
  /** Last call instead of `onEnd` and `onFailure`: a callback or the reader threw. */
  onBug(bug: unknown): void;
}

export interface ConnectionOwner {
  /** The reply is whole, and the next request may be sent. */
  onFree(connection: HttpConnection): void;
  onGone(connection: HttpConnection): void;
  /** A reply belongs to no request; the connection is closed next. */
  onSurplus(connection: HttpConnection): void;
  onBug(bug: unknown): void;
}

export interface SendOptions {
  /** Called instead of `onFailure` for a reset before any reply. */
  onStale?: (() => void) | undefined;
  isExpected?: ((head: ReplyHead) => boolean) | undefined;
}

export class HttpConnection implements ReplyEvents {
  readonly #socket: Bun.Socket;
  readonly #owner: ConnectionOwner;
  #listener: ReplyListener | undefined;
  #reader: ReplyReader | undefined;
  #options: SendOptions = {};
  #unsent: Buffer | undefined;
  #isPaused = false;
  #isGone = false;

  constructor(socket: Bun.Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
  }

  send(request: Buffer, listener: ReplyListener, options: SendOptions = {}): void {
    this.#listener = listener;
    this.#options = options;
    this.#reader = new ReplyReader(this);
    this.#write(request);
  }

  /** Terminates the connection, so that the server notices; the listener gets no further call. */
  cut(listener: ReplyListener): void {
    if (this.#listener !== listener) return;
    this.#forget();
    this.#breakOff();
  }

  pause(listener: ReplyListener): void {
    if (this.#listener !== listener || this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(listener: ReplyListener): void {
    if (this.#listener === listener) this.#resume();
  }

  close(): void {
    this.#leave();
    this.#socket.end();
  }

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

  /** Takes bytes of the socket; catches errors here, which is cheaper than a wrapper. */
  takeBytes(bytes: Buffer): void {
    try {
      this.#read(bytes);
    } catch (bug) {
      this.takeBug(bug);
    }
  }

  takeDrain(): void {
    if (this.#unsent) this.#write(this.#unsent);
  }

  /** The socket is closed or unusable; with null the server closed it in good order. */
  takeClose(failure: FetchFailure | null): void {
    this.#leave();
    if (!this.#listener) return;
    if (failure === null && this.#reader!.endsWithClose) this.#finish();
    else this.#fail(failure ?? "reset");
  }

  /** A callback of this connection threw: only the connection and its request end. */
  takeBug(bug: unknown): void {
    const listener = this.#forget();
    this.#breakOff();
    (listener ?? this.#owner).onBug(bug);
  }

  #read(bytes: Buffer): void {
    if (!this.#listener && !this.#isGone) this.#owner.onSurplus(this);
    const state = this.#reader?.take(bytes);
    // A callback may have cut it.
    if (!this.#listener) this.#breakOff();
    else if (state === "whole") this.#finish();
    else if (state === "broken") this.end();
  }

  #write(bytes: Buffer): void {
    const written = this.#socket.write(bytes);
    // A dead socket writes nothing and is closed next.
    this.#unsent = written < bytes.length ? bytes.subarray(Math.max(0, written)) : undefined;
  }

  #finish(): void {
    const { isKept, hasSurplus } = this.#reader!;
    // A server that answers early does not read the rest of the request.
    const isHalfSent = this.#unsent !== undefined;
    const listener = this.#forget()!;
    if (hasSurplus) this.#owner.onSurplus(this);
    if (isHalfSent) this.#breakOff();
    else if (isKept && !this.#isGone) {
      this.#resume();
      this.#owner.onFree(this);
    } else this.close();
    this.#callLast(listener, () => listener.onEnd());
  }

  #fail(failure: FetchFailure): void {
    const isStale = failure === "reset" && !this.#reader!.hasBegun;
    const onStale = isStale ? this.#options.onStale : undefined;
    const listener = this.#forget()!;
    this.#callLast(listener, onStale ?? (() => listener.onFailure(failure)));
  }

  #callLast(listener: ReplyListener, call: () => void): void {
    guardCallback((bug) => listener.onBug(bug), call)();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #forget(): ReplyListener | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#reader = undefined;
    this.#options = {};
    this.#unsent = undefined;
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
