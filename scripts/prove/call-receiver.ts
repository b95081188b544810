// An endpoint for tools that records its requests, is slow, and sometimes breaks off.
import { createServer, type ServerResponse } from "node:http";
import type { Arrival } from "./call-check.ts";

export interface CallReceiver {
  /** `127.0.0.1:PORT`, as the operator's list takes it. */
  host: string;
  arrivals: readonly (Arrival & { id: string })[];
  /** Number of replies broken off, or with an unknown outcome. */
  broken(): number;
  close(): void;
}

const QUICK_MS_MAX = 40;
const SLOW_MS_MAX = 900;
/** Longer than any tool here waits. */
const NEVER_MS = 60_000;

/** Counts each call that it has read as done, with any reply. */
export const openCallReceiver = async (): Promise<CallReceiver> => {
  const arrivals: (Arrival & { id: string })[] = [];
  let broken = 0;
  const answer = (reply: ServerResponse) => {
    const drawn = Math.random();
    if (drawn < 0.04) {
      broken++;
      reply.socket?.destroy();
      return;
    }
    if (drawn < 0.07) broken++;
    reply.writeHead(drawn < 0.07 ? 504 : drawn < 0.1 ? 400 : 200, {
      "content-type": "application/json",
    });
    reply.end('{"done":true}');
  };
  const server = createServer((request, reply) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const { "idempotency-key": key, "webhook-id": id } = request.headers;
      arrivals.push({ key: `${key}`, id: `${id}`, body: Buffer.concat(pieces).toString() });
      const drawn = Math.random();
      const slow_ms = drawn < 0.01 ? NEVER_MS : drawn < 0.1 ? SLOW_MS_MAX : QUICK_MS_MAX;
      setTimeout(() => answer(reply), Math.random() * slow_ms);
    });
    request.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    host: `127.0.0.1:${port}`,
    arrivals,
    broken: () => broken,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
};
