// Sends requests to one server: each over a connection of its own account's, or over a new one.
import type { Cancel, Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import type { Log } from "../platform/log.ts";
import type { HttpConnection, ReplyListener } from "./http-connection.ts";
import { dial, type Target } from "./http-dial.ts";
import type { ReplyHead } from "./http-head.ts";
import { createIdleOrigin, type IdleConnections, type IdleMember } from "./http-idle.ts";

/** A connection that was closed while it was idle tells so within a round trip. */
const STALE_MS = 500;
/**
 * A dead server is dialled for two minutes, until the system gives up: so many attempts may wait.
 */
const DIALS_MAX = 8_192;
/** Time without any reuse, after a server has sent more than it was asked for. */
const BARRED_MS = 3_600_000;

/** A request on its way; after its end, or once it was cut, nothing here does anything. */
export interface Exchange {
  /** Ends it at once; its listener hears nothing any more. */
  cut(): void;
  /** Holds the server back: reads nothing more until `resume`. */
  pause(): void;
  resume(): void;
}

/** One request as its pool sees it. */
export interface PooledRequest {
  bytes: Buffer;
  /** Whose connections it may use; "": the program's own. */
  account: string;
  /** Its `x-request-id`, which some servers send back; null: it has none. */
  id: string | null;
  connect_timeout_ms: number;
}

export interface PoolOptions {
  clock: Clock;
  log: Log | undefined;
  idle: IdleConnections;
}

export class Pool {
  readonly #target: Target;
  readonly #options: PoolOptions;
  readonly #origin = createIdleOrigin();
  readonly #open = new Set<HttpConnection>();
  #isClosed = false;
  #dials = 0;
  #barredUntil = Number.NEGATIVE_INFINITY;
  /** It sends a request's id back with its reply. */
  #echoes = false;

  constructor(target: Target, options: PoolOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Sends a request; its listener hears nothing before this has returned. */
  send(request: PooledRequest, listener: ReplyListener): Exchange {
    const { clock, idle } = this.#options;
    let connection: HttpConnection | null = null;
    let cancelDial: Cancel | null = null;
    const sendAnew = () => {
      connection = null;
      cancelDial = this.#dial(request, listener, (made) => {
        connection = made;
      });
    };
    const member = idle.take(this.#origin, request.account);
    if (member) {
      ({ connection } = member);
      // The server may have closed it just as it was taken up. A connection of its own cannot
      // fail for that reason again. Later it has had the request, and may have worked on it.
      this.#sendOver(member, request, listener, () => {
        if (clock.monotonic() - member.askedAt < STALE_MS) sendAnew();
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

  /** Closes every connection: who still waits for a reply hears that it was broken off. */
  close(): void {
    this.#isClosed = true;
    this.#options.idle.closeOrigin(this.#origin);
    for (const connection of [...this.#open]) connection.end();
  }

  #dial(
    request: PooledRequest,
    listener: ReplyListener,
    take: (made: HttpConnection) => void,
  ): Cancel {
    const { clock, log, idle } = this.#options;
    if (this.#dials >= DIALS_MAX) {
      const refuse = () => listener.onFailure("timeout");
      return clock.after(
        0,
        guardCallback((bug) => listener.onBug(bug), refuse),
      );
    }
    this.#dials += 1;
    let member: IdleMember | null = null;
    return dial(this.#target, {
      clock,
      timeout_ms: request.connect_timeout_ms,
      onOpen: (connection) => {
        if (this.#isClosed) {
          connection.close();
          return listener.onFailure("other");
        }
        member = createMember(connection, this.#origin, request.account, clock.monotonic());
        this.#open.add(connection);
        take(connection);
        this.#sendOver(member, request, listener);
      },
      onFailure: (failure) => listener.onFailure(failure),
      onEnd: () => {
        this.#dials -= 1;
      },
      onFree: (connection) => {
        if (this.#isClosed || this.#isBarred()) connection.close();
        else idle.keep(member!);
      },
      onGone: (connection) => {
        this.#open.delete(connection);
        if (member) idle.drop(member);
      },
      onSurplus: () => this.#bar(),
      onBug(error) {
        if (member) log?.error("a bug ended a connection to a server", { error });
        else listener.onBug(error);
      },
    });
  }

  #sendOver(
    member: IdleMember,
    { bytes, id }: PooledRequest,
    listener: ReplyListener,
    onStale?: () => void,
  ): void {
    member.askedAt = this.#options.clock.monotonic();
    member.requests += 1;
    const isReused = member.requests > 1;
    const isExpected =
      id === null ? undefined : (head: ReplyHead) => this.#judge(head, id, isReused);
    member.connection.send(bytes, listener, { onStale, isExpected });
  }

  /** Whether a reply can be the one to this request. */
  #judge(head: ReplyHead, id: string, isReused: boolean): boolean {
    const echo = head.header("x-request-id");
    if (echo === null) return true;
    const isOurs = echo.toLowerCase() === id.toLowerCase();
    if (isOurs) this.#echoes = true;
    // Whoever gives ids of its own has never sent ours back.
    return isOurs || !this.#echoes || !isReused;
  }

  #isBarred(): boolean {
    return this.#options.clock.monotonic() < this.#barredUntil;
  }

  /** One reply too many may have been meant for another request, and so may the next ones be. */
  #bar(): void {
    const { clock, log, idle } = this.#options;
    if (!this.#isBarred()) {
      const upstream = `${this.#target.hostname}:${this.#target.port}`;
      log?.warn("a server sends more than it is asked for; for an hour no connection is reused", {
        upstream,
      });
    }
    this.#barredUntil = clock.monotonic() + BARRED_MS;
    this.#echoes = false;
    idle.closeOrigin(this.#origin);
  }
}

function createMember(
  connection: HttpConnection,
  origin: IdleMember["origin"],
  account: string,
  now: number,
): IdleMember {
  const fresh = { openedAt: now, requests: 0, askedAt: now, unusedSince: now };
  return { connection, origin, account, state: "used", ...fresh };
}
