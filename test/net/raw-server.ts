// A server of raw sockets on loopback, for malformed replies.

export interface RawSocket {
  /** Sends text at once. */
  say(text: string): void;
  /** Ends the connection properly. */
  end(): void;
  /** Breaks the connection. */
  break(): void;
  /** Reads nothing more. */
  pause(): void;
  /** The number of this connection, from 1. */
  connection: number;
  /** The number of received pieces, including this one; a small request is one piece. */
  piece: number;
  /** The length of this piece in bytes. */
  size: number;
}

export interface RawServer {
  origin: string;
  port: number;
  connections: number;
  pieces: string[];
  /** The raw bytes. */
  bytes: Buffer[];
  /** Settles when the first connection has ended. */
  closed: Promise<void>;
  [Symbol.dispose](): void;
}

export const plainReply = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** Listens on a free port of 127.0.0.1 and passes every received piece to `answer`. */
export function listenRaw(answer: (socket: RawSocket) => void): RawServer {
  const closed = Promise.withResolvers<void>();
  const listener = Bun.listen<{ connection: number; piece: number }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        server.connections += 1;
        socket.data = { connection: server.connections, piece: 0 };
      },
      data(socket, bytes) {
        server.pieces.push(bytes.toString());
        server.bytes.push(bytes);
        socket.data.piece += 1;
        answer({
          ...socket.data,
          size: bytes.length,
          say: (text) => {
            socket.write(text);
            socket.flush();
          },
          end: () => socket.end(),
          break: () => socket.terminate(),
          pause: () => socket.pause(),
        });
      },
      close: () => closed.resolve(),
    },
  });
  const server: RawServer = {
    origin: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    connections: 0,
    pieces: [],
    bytes: [],
    closed: closed.promise,
    [Symbol.dispose]: () => listener.stop(true),
  };
  return server;
}
