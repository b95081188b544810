// Opens a connection to a server, in time and, over TLS, only to one that proves its name.
import { isIP } from "node:net";
import type { Cancel, Clock } from "../platform/clock.ts";
import { hasFreeDescriptors, withReserve } from "../platform/descriptors.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import { explainFetchFailure, type FetchFailure } from "./failure.ts";
import { type ConnectionOwner, HttpConnection } from "./http-connection.ts";

/** Interval and maximum of attempts while descriptors are scarce. */
const RETRY_MS = 50;
const RETRIES_MAX = 40;

export interface Target {
  hostname: string;
  /** The name that the server has to prove, if the hostname is an address. */
  serverName?: string;
  port: number;
  isSecure: boolean;
  ca: string | undefined;
}

export interface DialOptions extends ConnectionOwner {
  clock: Clock;
  timeoutMs: number;
  /** One of `onOpen`, `onFailure` and `onBug` is called, unless the caller cancels. */
  onOpen(connection: HttpConnection): void;
  onFailure(failure: FetchFailure): void;
  onEnd(): void;
}

/**
 * Dials; Bun tries all addresses of a name side by side. No callback runs before this returns,
 * although Bun reports some failures inside its own call, such as a missing route.
 */
export function dial(target: Target, options: DialOptions): Cancel {
  const attempt = new DialAttempt(target, options);
  return () => attempt.giveUp();
}

class DialAttempt {
  readonly #target: Target;
  readonly #options: DialOptions;
  readonly #handler: Bun.SocketHandler<undefined>;
  readonly #cancelTimer: Cancel;
  #connection: HttpConnection | undefined;
  #unproved: Bun.Socket | undefined;
  #isOver = false;
  #hasEnded = false;
  #retries = 0;

  constructor(target: Target, options: DialOptions) {
    this.#target = target;
    this.#options = options;
    this.#handler = this.#createHandler();
    const timeOut = this.#guard(() => this.#timeOut());
    this.#cancelTimer = options.clock.after(options.timeoutMs, timeOut);
    queueMicrotask(this.#guard(() => this.#connect()));
  }

  giveUp(): void {
    this.#finish();
    this.#unproved?.terminate();
  }

  #createHandler(): Bun.SocketHandler<undefined> {
    return {
      open: this.#guard((socket) => {
        if (!this.#target.isSecure) return this.#open(socket);
        this.#unproved = socket;
        if (this.#isOver) socket.terminate();
      }),
      handshake: this.#guard((socket, isTrusted, doubt) => {
        // All three must agree before anything is sent.
        if (isTrusted && doubt === null && socket.authorized) return this.#open(socket);
        this.#fail("tls");
        socket.terminate();
      }),
      data: (_, bytes) => this.#connection?.takeBytes(bytes),
      drain: this.#guard(() => this.#connection?.takeDrain()),
      error: this.#guard((_, error) => this.#takeClose(explainFetchFailure(error))),
      close: this.#guard((_, error) => {
        this.#end();
        this.#takeClose(error ? explainFetchFailure(error) : null);
      }),
      connectError: this.#guard((_, error) => this.#failConnect(error)),
    };
  }

  #connect(): void {
    if (this.#isOver) {
      this.#end();
      return;
    }
    const { hostname: host, serverName, port, isSecure, ca } = this.#target;
    const hostname = host.replace(/^\[|\]$/g, "");
    const tls = isSecure && chooseTls(serverName ?? hostname, ca);
    const socket = this.#handler;
    try {
      // `connectError` is called before the promise rejects.
      withReserve(() => Bun.connect({ hostname, port, ...(tls && { tls }), socket })).catch(
        () => undefined,
      );
    } catch (error) {
      this.#failConnect(error);
    }
  }

  #open(socket: Bun.Socket): void {
    this.#unproved = undefined;
    this.#end();
    // Bun cannot cancel a connection before it is open.
    if (!this.#finish()) {
      socket.terminate();
      return;
    }
    // A request is one write, so Nagle's algorithm gains nothing.
    socket.setNoDelay(true);
    this.#connection = new HttpConnection(socket, this.#options);
    this.#options.onOpen(this.#connection);
  }

  #failConnect(error: unknown): void {
    // Bun reports the lack of a descriptor like an address that refuses.
    const isScarce =
      !this.#isOver && this.#retries++ < RETRIES_MAX && !withReserve(() => hasFreeDescriptors(1));
    if (isScarce) {
      this.#options.clock.after(
        RETRY_MS,
        this.#guard(() => this.#connect()),
      );
      return;
    }
    this.#end();
    this.#fail(explainFetchFailure(error));
  }

  #takeClose(failure: FetchFailure | null): void {
    if (this.#connection) this.#connection.takeClose(failure);
    else this.#fail(failure ?? "reset");
  }

  #timeOut(): void {
    this.#fail("timeout");
    this.giveUp();
  }

  #fail(failure: FetchFailure): void {
    if (this.#finish()) this.#options.onFailure(failure);
  }

  #takeBug(bug: unknown): void {
    if (this.#connection) this.#connection.takeBug(bug);
    else {
      this.giveUp();
      this.#options.onBug(bug);
    }
  }

  #finish(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    this.#cancelTimer();
    return isFirst;
  }

  #end(): void {
    if (!this.#hasEnded) this.#options.onEnd();
    this.#hasEnded = true;
  }

  #guard<Given extends unknown[]>(run: (...given: Given) => void) {
    return guardCallback((bug) => this.#takeBug(bug), run);
  }
}

/** Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment cannot disable it. */
function chooseTls(name: string, ca: string | undefined): Bun.TLSOptions {
  const serverName = isIP(name) === 0 ? name : undefined;
  return { rejectUnauthorized: true, ...(serverName && { serverName }), ...(ca && { ca }) };
}
