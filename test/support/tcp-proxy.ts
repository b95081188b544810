// A proxy of bytes in front of a server, for faults of the network between.
import type { Socket } from "bun";
import { listenApart } from "./ports.ts";

interface Link {
  onward: Socket | null;
  /** Bytes that came before the connection to the server was made. */
  early: Uint8Array[];
  isSwallowed: boolean;
}

export interface TcpProxy {
  port: number;
  /** From now on the bytes of all connections vanish. */
  swallow(): void;
  /** Only those of the connection that was used last vanish. */
  swallowLast(): void;
  /** Cuts the next connection on which the server answers with these bytes, which nobody gets. */
  cutAt(text: string): void;
  /** New connections pass again; bytes of the old ones stay lost. */
  heal(): void;
  stop(): void;
}

export function startTcpProxy(host: string, port: number): TcpProxy {
  const links = new Set<Socket<Link>>();
  let swallowsNew = false;
  let last: Link | null = null;
  let cutText: string | null = null;
  const connect = async (socket: Socket<Link>) => {
    const { data } = socket;
    const onward = await Bun.connect({
      ...{ hostname: host, port },
      socket: {
        data(_, bytes) {
          if (data.isSwallowed) return;
          if (cutText === null || !bytes.includes(cutText)) {
            socket.write(new Uint8Array(bytes));
            return;
          }
          cutText = null;
          data.isSwallowed = true;
          socket.end();
        },
        close: () => void (data.isSwallowed || socket.end()),
      },
    });
    data.onward = onward;
    for (const bytes of data.early.splice(0)) onward.write(bytes);
  };
  const listener = listenApart((own) =>
    Bun.listen<Link>({
      ...{ hostname: "127.0.0.1", port: own },
      socket: {
        open(socket) {
          socket.data = { onward: null, early: [], isSwallowed: swallowsNew };
          links.add(socket);
          // A server that is away refuses through the proxy, too.
          if (!swallowsNew) connect(socket).catch(() => socket.end());
        },
        data(socket, bytes) {
          const { data } = socket;
          if (data.isSwallowed) return;
          last = data;
          if (data.onward) data.onward.write(bytes);
          else data.early.push(new Uint8Array(bytes));
        },
        close(socket) {
          links.delete(socket);
          socket.data.onward?.end();
        },
      },
    }),
  );
  return {
    port: listener.port,
    swallow() {
      swallowsNew = true;
      for (const { data } of links) data.isSwallowed = true;
    },
    swallowLast() {
      if (last) last.isSwallowed = true;
    },
    cutAt(text) {
      cutText = text;
    },
    heal() {
      swallowsNew = false;
    },
    stop: () => listener.stop(true),
  };
}
