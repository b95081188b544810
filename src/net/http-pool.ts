// Sends requests to one server, over an idle connection of the same account or over a new one.
import type { Cancel, Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import type { Log } from "../platform/log.ts";
import type { HttpConnection, ReplyListener } from "./http-connection.ts";
import { dial, type Target } from "./http-dial.ts";
import type { ReplyHead } from "./http-head.ts";
import { type IdleConnections, IdleOrigin, type PooledConnection } from "./http-idle.ts";

/** Time within which the reset of a connection that was closed while idle arrives. */
const STALE_MS = 500;
/** Maximum attempts under way: the system dials a dead server for two minutes. */
const DIALS_MAX = 8_192;
/** Time without reuse after a server has sent surplus bytes. */
const BARRED_MS = 3_600_000;

export interface Exchange {
  cut(): void;
  pause(): void;
  resume(): void;
}

export interface PooledRequest {
  bytes: Buffer;
  account: string;
  id: string | undefined;
  connectTimeoutMs: number;
}

export interface PoolOptions {
  clock: Clock;
  log: Log | undefined;
  idle: IdleConnections;
}

export class Pool {
  readonly #target: Target;
  readonly #options: PoolOptions;
  readonly #origin = new IdleOrigin();
  readonly #open = new Set<HttpConnection>();
  #isClosed = false;
  #dials = 0;
  #barredUntil = Number.NEGATIVE_INFINITY;
  #echoesIds = false;

  constructor(target: Target, options: PoolOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Sends a request; its listener gets no call before this returns. */
  send(request: PooledRequest, listener: ReplyListener): Exchange {
    const { clock, idle } = this.#options;
    let connection: HttpConnection | undefined;
    let cancelDial: Cancel | undefined;
    const sendAnew = () => {
      connection = undefined;
      cancelDial = this.#dial(request, listener, (opened) => {
        connection = opened;
      });
    };
    const pooled = idle.take(this.#origin, request.account);
    if (pooled) {
      ({ connection } = pooled);
      // The server may have closed it at that moment; a new connection cannot fail for that
      // reason. After STALE_MS the server may have worked on the request already.
      this.#sendOver(pooled, request, listener, () => {
        if (clock.monotonic() - pooled.askedAt < STALE_MS) sendAnew();
        else listener.onFailure("reset");
      });
    } else sendAnew();
    return {
      cut() {
        cancelDial?.();
        connection?.cut(listener);
      },
      pause: () => connection?.pause(listener),
      resume: () => connection?.resume(listener),
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#options.idle.closeOrigin(this.#origin);
    for (const connection of [...this.#open]) connection.end();
  }

  #dial(
    request: PooledRequest,
    listener: ReplyListener,
    onOpen: (connection: HttpConnection) => void,
  ): Cancel {
    const { clock, log, idle } = this.#options;
    if (this.#dials >= DIALS_MAX) {
      const onBug = (bug: unknown) => listener.onBug(bug);
      return clock.after(
        0,
        guardCallback(onBug, () => listener.onFailure("timeout")),
      );
    }
    this.#dials += 1;
    let pooled: PooledConnection | undefined;
    return dial(this.#target, {
      clock,
      timeoutMs: request.connectTimeoutMs,
      onOpen: (connection) => {
        if (this.#isClosed) {
          connection.close();
          return listener.onFailure("other");
        }
        pooled = createPooled(connection, this.#origin, request.account, clock.monotonic());
        this.#open.add(connection);
        onOpen(connection);
        this.#sendOver(pooled, request, listener);
      },
      onFailure: (failure) => listener.onFailure(failure),
      onEnd: () => {
        this.#dials -= 1;
      },
      onFree: (connection) => {
        if (this.#isBarred()) connection.close();
        else idle.keep(pooled!);
      },
      onGone: (connection) => {
        this.#open.delete(connection);
        if (pooled) idle.drop(pooled);
      },
      onSurplus: () => this.#bar(),
      onBug(error) {
        if (pooled) log?.error("net: a bug ended a connection to a server", { error });
        else listener.onBug(error);
      },
    });
  }

  #sendOver(
    pooled: PooledConnection,
    { bytes, id }: PooledRequest,
    listener: ReplyListener,
    onStale?: () => void,
  ): void {
    pooled.askedAt = this.#options.clock.monotonic();
    pooled.requests += 1;
    const isReused = pooled.requests > 1;
    const isExpected =
      id === undefined ? undefined : (head: ReplyHead) => this.#isExpected(head, id, isReused);
    pooled.connection.send(bytes, listener, { onStale, isExpected });
  }

  #isExpected(head: ReplyHead, id: string, isReused: boolean): boolean {
    const echo = head.header("x-request-id");
    if (echo === null) return true;
    const isOurs = echo.toLowerCase() === id.toLowerCase();
    if (isOurs) this.#echoesIds = true;
    // Some servers send ids of their own.
    return isOurs || !this.#echoesIds || !isReused;
  }

  #isBarred(): boolean {
    return this.#options.clock.monotonic() < this.#barredUntil;
  }

  /** Stops reuse: a surplus reply may belong to another request, and so may the next ones. */
  #bar(): void {
    const { clock, log, idle } = this.#options;
    if (!this.#isBarred()) {
      const upstream = `${this.#target.hostname}:${this.#target.port}`;
      log?.warn("net: a server sent surplus bytes; its connections are not reused for an hour", {
        upstream,
      });
    }
    this.#barredUntil = clock.monotonic() + BARRED_MS;
    this.#echoesIds = false;
    idle.closeOrigin(this.#origin);
  }
}

function createPooled(
  connection: HttpConnection,
  origin: IdleOrigin,
  account: string,
  now: number,
): PooledConnection {
  const fresh = { openedAt: now, requests: 0, askedAt: now, unusedSince: now };
  return { connection, origin, account, state: "used", ...fresh };
}
