// A flood of connections on few descriptors: callers with a key are served by the same process.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room } from "../support/binary.ts";
import { answerText, startUpstream, writeSettings } from "../support/upstream.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

const IDLE = "";
const SLOW = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
const KEYLESS = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
const FLOODS = [
  { what: "idle", head: IDLE, descriptors: 128, clients: 300 },
  { what: "slow", head: SLOW, descriptors: 128, clients: 300 },
  { what: "keyless", head: KEYLESS, descriptors: 128, clients: 300 },
  // The reserve to dial is larger here than what the guard keeps free of all descriptors.
  { what: "idle", head: IDLE, descriptors: 640, clients: 700 },
];

if (process.platform !== "linux") test.skip("a flood on few descriptors (Linux)", () => {});
else {
  for (const { what, head, descriptors, clients } of FLOODS) {
    test(`the server survives a flood of ${what} connections on ${descriptors} descriptors`, async () => {
      // Each connection to it is a new one, for which a descriptor has to be free.
      const upstream = startUpstream(async () => {
        const reply = await answerText("served");
        reply.headers.set("connection", "close");
        return reply;
      });
      writeFileSync(join(room.directory, "wadi.toml"), writeSettings(upstream.url));
      const few = `ulimit -n ${descriptors}; exec "$0" "$@"`;
      const server = await room.serve(["dev", "--port", "0"], {
        command: ["sh", "-c", few, executable()],
      });
      const { port } = new URL(server.url);
      let isOver = false;
      const sockets = new Set<Socket>();
      const flood = () => {
        if (isOver) return;
        const socket = connect(Number(port), "127.0.0.1");
        sockets.add(socket);
        socket.on("connect", () => void (head && socket.write(head)));
        socket.on("data", () => {});
        socket.on("error", () => {});
        // A refused client connects again.
        socket.on("close", () => {
          sockets.delete(socket);
          setImmediate(flood);
        });
      };
      for (let one = 0; one < clients; one++) flood();
      await server.logged("connections: closed for free descriptors");
      for (let round = 0; round < 4; round++) {
        const requests = Array.from({ length: 4 }, () => server.chat("Hello"));
        for (const reply of await Promise.all(requests)) {
          expect(reply.status).toBe(201);
          expect(await reply.json()).toMatchObject({
            choices: [{ message: { content: "served" } }],
          });
        }
      }
      expect(process.kill(server.pid, 0)).toBeTrue();
      isOver = true;
      for (const socket of sockets) socket.destroy();
      server.signal("SIGTERM");
      expect(await server.exited).toBe(0);
      await upstream.stop();
    });
  }
}
