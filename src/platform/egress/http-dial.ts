// Opens a connection to a server, in time and, over TLS, only to one that proves its name.
import { isIP } from "node:net";
import type { Cancel, Clock } from "../clock.ts";
import { explainFetchFailure, type FetchFailure } from "./failure.ts";
import { Connection, type ConnectionOwner } from "./http-connection.ts";

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
  /** Exactly one of the two is called, later, unless the dialling was called off. */
  onOpen(connection: Connection): void;
  onFailure(failure: FetchFailure): void;
  /** The attempt is over, also one that was called off long before. */
  onEnd(): void;
}

/** Dials; Bun tries every address of a name, side by side. */
export function dial(target: Target, options: DialOptions): Cancel {
  let connection: Connection | null = null;
  let isOver = false;
  let hasEnded = false;
  /** Over TLS: it stands, and the other side has not proved its name yet. */
  let unproved: Bun.Socket | null = null;
  const end = (): boolean => {
    const isFirst = !isOver;
    isOver = true;
    cancelTimer();
    return isFirst;
  };
  /** Nobody waits for it any more. */
  const giveUp = () => {
    end();
    unproved?.terminate();
  };
  const fail = (failure: FetchFailure) => {
    if (end()) options.onFailure(failure);
  };
  const endAttempt = () => {
    if (!hasEnded) options.onEnd();
    hasEnded = true;
  };
  const cancelTimer = options.clock.after(options.timeout_ms, () => {
    fail("timeout");
    giveUp();
  });
  const open = (socket: Bun.Socket) => {
    unproved = null;
    endAttempt();
    // Bun cannot call a connection off before it stands.
    if (!end()) return socket.terminate();
    // A request is one write: there is nothing to gather.
    socket.setNoDelay(true);
    connection = new Connection(socket, options);
    options.onOpen(connection);
  };
  const host = target.hostname.replace(/^\[|\]$/g, "");
  void Bun.connect({
    hostname: host,
    port: target.port,
    ...(target.isSecure && { tls: chooseTls(target.server_name ?? host, target.ca) }),
    socket: {
      open(socket) {
        if (!target.isSecure) return open(socket);
        unproved = socket;
        if (isOver) socket.terminate();
      },
      handshake(socket, isTrusted, doubt) {
        // All three say the same; nothing was sent yet, and nothing will be if one disagrees.
        if (isTrusted && doubt === null && socket.authorized) return open(socket);
        fail("tls");
        socket.terminate();
      },
      data: (_, bytes) => connection?.takeBytes(bytes),
      drain: () => connection?.takeDrain(),
      error(_, error) {
        const failure = explainFetchFailure(error);
        connection ? connection.takeClose(failure) : fail(failure);
      },
      close(_, error) {
        endAttempt();
        const failure = error ? explainFetchFailure(error) : null;
        connection ? connection.takeClose(failure) : fail(failure ?? "reset");
      },
      connectError(_, error) {
        endAttempt();
        fail(explainFetchFailure(error));
      },
    },
  });
  return giveUp;
}

/** Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment cannot unsay it. */
function chooseTls(name: string, ca: string | undefined): Bun.TLSOptions {
  const serverName = isIP(name) === 0 ? name : undefined;
  return { rejectUnauthorized: true, ...(serverName && { serverName }), ...(ca && { ca }) };
}
