// Passes bytes to a PostgreSQL server, and counts round trips.
import type { Socket } from "bun";

interface Link {
  onward: Promise<Socket>;
  /** Bytes were sent to the server since its last reply. */
  hasAsked: boolean;
}

export interface PostgresProxy {
  port: number;
  /** Replies of the server so far, each to all that was sent before it. */
  countTrips(): number;
  stop(): void;
}

export const startPostgresProxy = (
  hostname: string,
  port: number,
  isCounted: (bytes: Uint8Array) => boolean = () => true,
): PostgresProxy => {
  let trips = 0;
  const connect = (socket: Socket<Link>): Promise<Socket> =>
    Bun.connect({
      ...{ hostname, port },
      socket: {
        data(_, bytes) {
          if (socket.data.hasAsked) trips++;
          socket.data.hasAsked = false;
          socket.write(bytes);
        },
        close: () => void socket.end(),
      },
    });
  const listener = Bun.listen<Link>({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open(socket) {
        socket.data = { onward: connect(socket), hasAsked: false };
      },
      async data({ data }, bytes) {
        const copy = new Uint8Array(bytes);
        data.hasAsked = isCounted(copy);
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
