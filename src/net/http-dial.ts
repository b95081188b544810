// Opens a connection to a server, in time and, over TLS, only to one that proves its name.
import { isIP } from "node:net";
import type { Cancel, Clock } from "../platform/clock.ts";
import { hasFreeDescriptors } from "../platform/descriptors.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import { explainFetchFailure, type FetchFailure } from "./failure.ts";
import { type ConnectionOwner, HttpConnection } from "./http-connection.ts";

/** Whoever takes the last descriptor loses it again, soon. */
const TRY_AGAIN_MS = 50;
const TRIES_MAX = 40;

export interface Target {
  /** As `URL.hostname` writes it. */
  hostname: string;
  /** Where that is an address: the name which the server has to prove; else it is the host's. */
  server_name?: string;
  port: number;
  isSecure: boolean;
  /** Trusted beside the usual authorities. */
  ca: string | undefined;
}

export interface DialOptions extends ConnectionOwner {
  clock: Clock;
  timeout_ms: number;
  /** One of the two is called, or `onBug`, later, unless the dialling was called off. */
  onOpen(connection: HttpConnection): void;
  onFailure(failure: FetchFailure): void;
  /** The attempt is over, also one that was called off long before. */
  onEnd(): void;
  /** One of our own callbacks threw, and no request was under way that could be told. */
  onBug(bug: unknown): void;
}

/**
 * Dials; Bun tries every address of a name, side by side. Nothing is called back before this has
 * returned, although Bun reports some failures inside its own call, such as a missing route.
 */
export function dial(target: Target, options: DialOptions): Cancel {
  let connection: HttpConnection | null = null;
  let isOver = false;
  let hasEnded = false;
  let tries = 0;
  /** Over TLS: it stands, and the other side has not proved its name yet. */
  let unproved: Bun.Socket | null = null;
  const end = (): boolean => {
    const isFirst = !isOver;
    isOver = true;
    cancelTimer();
    return isFirst;
  };
  const giveUp = () => {
    end();
    unproved?.terminate();
  };
  const fail = (failure: FetchFailure) => {
    if (end()) options.onFailure(failure);
  };
  const takeBug = (bug: unknown) => {
    if (connection) return connection.takeBug(bug);
    giveUp();
    options.onBug(bug);
  };
  const own = <Given extends unknown[]>(run: (...given: Given) => void) =>
    guardCallback(takeBug, run);
  const endAttempt = () => {
    if (!hasEnded) options.onEnd();
    hasEnded = true;
  };
  const runOut = () => {
    fail("timeout");
    giveUp();
  };
  const cancelTimer = options.clock.after(options.timeout_ms, own(runOut));
  const open = (socket: Bun.Socket) => {
    unproved = null;
    endAttempt();
    // Bun cannot call a connection off before it stands.
    if (!end()) return socket.terminate();
    // A request is one write: there is nothing to gather.
    socket.setNoDelay(true);
    connection = new HttpConnection(socket, options);
    options.onOpen(connection);
  };
  const failAttempt = (error: unknown) => {
    // Bun says the same of an address that refuses: it is tried again until one is free.
    const isScarce = !isOver && tries++ < TRIES_MAX && !hasFreeDescriptors(1);
    if (isScarce) return void options.clock.after(TRY_AGAIN_MS, own(begin));
    endAttempt();
    fail(explainFetchFailure(error));
  };
  const socket: Bun.SocketHandler<undefined> = {
    open: own((socket) => {
      if (!target.isSecure) return open(socket);
      unproved = socket;
      if (isOver) socket.terminate();
    }),
    handshake: own((socket, isTrusted, doubt) => {
      // All three say the same; nothing was sent yet, and nothing will be if one disagrees.
      if (isTrusted && doubt === null && socket.authorized) return open(socket);
      fail("tls");
      socket.terminate();
    }),
    data: (_, bytes) => connection?.takeBytes(bytes),
    drain: own(() => connection?.takeDrain()),
    error: own((_, error) => {
      const failure = explainFetchFailure(error);
      connection ? connection.takeClose(failure) : fail(failure);
    }),
    close: own((_, error) => {
      endAttempt();
      const failure = error ? explainFetchFailure(error) : null;
      connection ? connection.takeClose(failure) : fail(failure ?? "reset");
    }),
    connectError: own((_, error) => failAttempt(error)),
  };
  const begin = () => {
    // It was called off meanwhile.
    if (isOver) endAttempt();
    else connect(target, socket, failAttempt);
  };
  queueMicrotask(own(begin));
  return giveUp;
}

function connect(
  { hostname: host, server_name, port, isSecure, ca }: Target,
  socket: Bun.SocketHandler<undefined>,
  onThrow: (error: unknown) => void,
): void {
  const hostname = host.replace(/^\[|\]$/g, "");
  const tls = isSecure && chooseTls(server_name ?? hostname, ca);
  try {
    // What it rejects with, `connectError` was told before.
    Bun.connect({ hostname, port, ...(tls && { tls }), socket }).catch(() => undefined);
  } catch (error) {
    onThrow(error);
  }
}

/** Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment cannot unsay it. */
function chooseTls(name: string, ca: string | undefined): Bun.TLSOptions {
  const serverName = isIP(name) === 0 ? name : undefined;
  return { rejectUnauthorized: true, ...(serverName && { serverName }), ...(ca && { ca }) };
}
