// A server on bare sockets whose replies decompress to much more, or never end.
import { gzipSync } from "node:zlib";

const MB = 1_048_576;
const zeros = Buffer.alloc(MB);
/** Packed as a chain, 400 MB are 0.4 MB. */
const packed = Buffer.concat(Array<Buffer>(400).fill(gzipSync(zeros)));
const chunk = Buffer.concat([Buffer.from(`${MB.toString(16)}\r\n`), zeros, Buffer.from("\r\n")]);
const header = Buffer.from(`x-a: ${"b".repeat(8_000)}\r\n`.repeat(100));
const OK = "HTTP/1.1 200 OK\r\n";

interface Bomb {
  head: string;
  piece: Buffer;
  /** Sent once; else without end. */
  is_whole?: true;
}

const bombs: Readonly<Record<string, Bomb>> = {
  "/fits": { head: `${OK}content-length: ${MB}\r\n\r\n`, piece: zeros, is_whole: true },
  "/gzip": {
    head: `${OK}content-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`,
    piece: packed,
    is_whole: true,
  },
  "/length": { head: `${OK}content-length: ${400 * MB}\r\n\r\n`, piece: zeros },
  "/close": { head: `${OK}\r\n`, piece: zeros },
  "/chunks": { head: `${OK}transfer-encoding: chunked\r\n\r\n`, piece: chunk },
  "/one-chunk": { head: `${OK}transfer-encoding: chunked\r\n\r\nffffffffff\r\n`, piece: zeros },
  "/extension": { head: `${OK}transfer-encoding: chunked\r\n\r\n1;`, piece: Buffer.alloc(MB, "x") },
  "/header": { head: `${OK}x-a: `, piece: Buffer.alloc(MB, "x") },
  "/headers": { head: OK, piece: header },
  "/interim": { head: "", piece: Buffer.from("HTTP/1.1 103 Early\r\n\r\n".repeat(10_000)) },
};

interface Sending {
  bomb: Bomb | null;
  at: number;
}

const send = (socket: Bun.Socket<Sending>): void => {
  const { data } = socket;
  while (data.bomb) {
    const { piece, is_whole } = data.bomb;
    const written = socket.write(data.at === 0 ? piece : piece.subarray(data.at));
    if (written <= 0) return;
    data.at += written;
    if (data.at < piece.length) return;
    data.at = 0;
    if (!is_whole) continue;
    data.bomb = null;
    socket.end();
  }
};

const listener = Bun.listen<Sending>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.data = { bomb: null, at: 0 };
    },
    data(socket, bytes) {
      const path = /^\w+ (\S+) /.exec(bytes.toString("latin1"))?.[1] ?? "";
      socket.data.bomb = bombs[path] ?? null;
      if (!socket.data.bomb) return void socket.end();
      socket.write(socket.data.bomb.head);
      send(socket);
    },
    drain: send,
  },
});
console.log(`http://127.0.0.1:${listener.port}`);
