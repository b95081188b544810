// A balancer of connections: each goes to the next server, or to the one behind it that answers.
import type { Socket } from "bun";
import { listenApart } from "./ports.ts";

interface Link {
  onward: Promise<Socket | null>;
}

export interface Balancer {
  url: string;
  /** Connections that each server has got so far, in the order of the servers. */
  counts: readonly number[];
  stop(): void;
}

export function startBalancer(urls: readonly string[]): Balancer {
  const counts = urls.map(() => 0);
  let turn = 0;
  const connect = async (socket: Socket<Link>): Promise<Socket | null> => {
    for (const _ of urls) {
      const at = turn++ % urls.length;
      const { hostname, port } = new URL(urls[at]!);
      try {
        const onward = await Bun.connect({
          ...{ hostname, port: Number(port) },
          socket: {
            data: (_, bytes) => void socket.write(new Uint8Array(bytes)),
            close: () => void socket.end(),
          },
        });
        counts[at]!++;
        return onward;
      } catch {
        // The next one gets it.
      }
    }
    socket.end();
    return null;
  };
  const listener = listenApart((port) =>
    Bun.listen<Link>({
      ...{ hostname: "127.0.0.1", port },
      socket: {
        open(socket) {
          socket.data = { onward: connect(socket) };
        },
        async data({ data }, bytes) {
          const copy = new Uint8Array(bytes);
          (await data.onward)?.write(copy);
        },
        close: async ({ data }) => void (await data.onward)?.end(),
      },
    }),
  );
  return { url: `http://127.0.0.1:${listener.port}`, counts, stop: () => listener.stop(true) };
}
