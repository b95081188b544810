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

const DESCRIPTORS = 128;
const STRANGERS = 300;
const HEADS = {
  idle: "",
  slow: "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
  "without a key": "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
};

if (process.platform !== "linux") test.skip("a flood on few descriptors (Linux)", () => {});
else {
  for (const [what, head] of Object.entries(HEADS)) {
    test(`a flood of ${what} connections takes service from no caller`, async () => {
      // Each connection to it is a new one, for which a descriptor has to be free.
      const upstream = startUpstream(async () => {
        const reply = await answerText("served");
        reply.headers.set("connection", "close");
        return reply;
      });
      writeFileSync(join(room.directory, "wadi.toml"), writeSettings(upstream.url));
      const few = `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`;
      const server = await room.serve(["dev", "--port", "0"], {
        command: ["sh", "-c", few, executable()],
      });
      const { port } = new URL(server.url);
      let isOver = false;
      const strangers = new Set<Socket>();
      const flood = () => {
        if (isOver) return;
        const socket = connect(Number(port), "127.0.0.1");
        strangers.add(socket);
        socket.on("connect", () => void (head && socket.write(head)));
        socket.on("data", () => {});
        socket.on("error", () => {});
        // Whoever is thrown out comes again.
        socket.on("close", () => {
          strangers.delete(socket);
          setImmediate(flood);
        });
      };
      for (let one = 0; one < STRANGERS; one++) flood();
      await server.logged("connections are closed");
      for (let round = 0; round < 4; round++) {
        const asked = Array.from({ length: 4 }, () => server.chat("Hello"));
        for (const reply of await Promise.all(asked)) {
          expect(reply.status).toBe(201);
          expect(await reply.json()).toMatchObject({
            choices: [{ message: { content: "served" } }],
          });
        }
      }
      expect(process.kill(server.pid, 0)).toBeTrue();
      isOver = true;
      for (const socket of strangers) socket.destroy();
      server.signal("SIGTERM");
      expect(await server.exited).toBe(0);
      await upstream.stop();
    });
  }
}
