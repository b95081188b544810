// Passes bytes to a PostgreSQL server, and counts round trips.
import type { Socket } from "bun";

interface Link {
  onward: Promise<Socket>;
  /** Bytes were sent to the server since its last reply. */
  hasAsked: boolean;
  /** They write rows of the request log, which many runs share. */
  writesRequests: boolean;
  /** Names of the prepared statements that do. */
  requestStatements: Set<string>;
}

const PREPARED = /(P\d+)\0INSERT INTO ledger/g;

export interface PostgresProxy {
  port: number;
  /** Replies of the server so far, each to all that was sent before it; without request rows. */
  countTrips(): number;
  stop(): void;
}

export const startPostgresProxy = (hostname: string, port: number): PostgresProxy => {
  let trips = 0;
  const connect = (socket: Socket<Link>): Promise<Socket> =>
    Bun.connect({
      ...{ hostname, port },
      socket: {
        data(_, bytes) {
          const { hasAsked, writesRequests } = socket.data;
          if (hasAsked && !writesRequests) trips++;
          Object.assign(socket.data, { hasAsked: false, writesRequests: false });
          socket.write(bytes);
        },
        close: () => void socket.end(),
      },
    });
  const listener = Bun.listen<Link>({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open(socket) {
        const none = { hasAsked: false, writesRequests: false };
        socket.data = { onward: connect(socket), ...none, requestStatements: new Set() };
      },
      async data({ data }, bytes) {
        const copy = new Uint8Array(bytes);
        data.hasAsked = true;
        noteRequests(data, Buffer.from(copy).toString("latin1"));
        (await data.onward).write(copy);
      },
      close: async ({ data }) => void (await data.onward).end(),
    },
  });
  return {
    port: listener.port,
    countTrips: () => trips,
    stop: () => listener.stop(true),
  };
};

const noteRequests = (link: Link, text: string): void => {
  for (const [, name] of text.matchAll(PREPARED)) link.requestStatements.add(name!);
  for (const name of link.requestStatements) {
    if (text.includes(`\0${name}\0`)) link.writesRequests = true;
  }
};
