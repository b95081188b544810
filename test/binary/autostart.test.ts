// The compiled program and a model server that it starts by a command, in the foreground of that command.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { findClosedPort } from "../support/ports.ts";

/** Answers chats with its own id, and exits on request. */
const MODEL_SERVER = `
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/end") setTimeout(() => process.exit(), 1);
    if (pathname !== "/v1/chat/completions") return Response.json(Object.keys(process.env));
    const message = { role: "assistant", content: "started" };
    return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] });
  },
});
`;

let room: Room;
let server: Server;
let base: string;
beforeAll(async () => {
  room = openRoom();
  // A port that is free now; the server takes it a moment later.
  const port = findClosedPort();
  base = `http://127.0.0.1:${port}`;
  const script = join(room.directory, "model-server.ts");
  writeFileSync(script, MODEL_SERVER);
  const command = JSON.stringify([
    "sh",
    "-c",
    'exec "$@"',
    "sh",
    process.execPath,
    script,
    `${port}`,
  ]);
  writeFileSync(
    join(room.directory, "wadi.toml"),
    `
[[models]]
id = "main"
self_hosted = true
[models.upstream]
kind = "openai"
urls = ["${base}/v1"]
[models.upstream.start]
command = ${command}
health = "${base}/health"
`,
  );
  server = await room.serve(["serve", "--port", "0"], { env: { MODEL_KEY: "secret" } });
});
afterAll(async () => {
  await fetch(`${base}/end`).catch(() => undefined);
  await room.close();
});

const list = async () => {
  const { stdout } = await room.perform(["models", "list", "--json"]);
  const [{ unit, start_ms }] = JSON.parse(stdout);
  return [unit, typeof start_ms];
};

test("the first request starts its model's server, which outlives the process", async () => {
  expect((await list())[1]).toBe("object");
  const reply = await server.chat("Hello");
  expect([reply.status, await reply.text()]).toEqual([201, expect.stringContaining("started")]);
  expect(await list()).toEqual(["up", "number"]);
  expect(await server.logged("autostart: model server is up")).toContain('"duration_ms":');
  const known = (await (await fetch(`${base}/health`)).json()) as string[];
  expect(known).toContain("PATH");
  expect(known).not.toContain("MODEL_KEY");
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
  expect((await fetch(`${base}/health`)).status).toBe(200);
});
