// The end of the compiled server: what runs may end, nobody new comes in, and nothing keeps it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { answerText, startUpstream, writeSettings } from "../support/upstream.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** A stream of which the first frame has arrived and that does not end by itself. */
async function openStream(server: Server) {
  const body = { stream: true };
  const response = await server.chat("!say Hello\n!stall", { body });
  expect(response.status).toBe(201);
  const reader = response.body!.getReader();
  await reader.read();
  return reader;
}

/** A new connection is refused. */
const isClosed = (server: Server) =>
  fetch(`${server.url}/healthz`, { keepalive: false }).then(
    () => false,
    () => true,
  );

test("without requests SIGTERM and SIGINT end it at once, with exit code 0", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    for (const verb of ["dev", "serve"]) {
      const server = await room.serve([verb, "--port", "0", "--data", `${verb}-${signal}`]);
      expect((await server.chat("Hello")).status).toBe(201);
      server.signal(signal);
      expect(await server.exited).toBe(0);
    }
  }
});

test("a request that runs ends whole, while nobody new gets in", async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const upstream = startUpstream(async () => {
    arrived.resolve();
    await answered.promise;
    return answerText("at last");
  });
  try {
    await Bun.write(`${room.directory}/slow.toml`, writeSettings(upstream.url));
    const server = await room.serve(["dev", "--port", "0", "--config", "slow.toml"]);
    const reply = server.chat("Hello");
    await arrived.promise;
    server.signal("SIGTERM");
    await server.logged("stopping once running requests have ended");
    expect(await isClosed(server)).toBeTrue();
    answered.resolve();
    const response = await reply;
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "at last" } }],
    });
    expect(await server.exited).toBe(0);
  } finally {
    await upstream.stop();
  }
});

test("a second signal does not wait for what runs", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  const stream = await openStream(server);
  server.signal("SIGTERM");
  await server.logged("stopping once running requests have ended");
  server.signal("SIGTERM");
  expect(await server.exited).toBe(1);
  // The caller is left with a cut stream, not with a clean end.
  const read = async () => {
    while (!(await stream.read()).done);
  };
  await expect(read()).rejects.toThrow();
});

test("it serves on, and stops in good order, when nobody reads what it prints", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  await server.stopReading();
  expect((await server.chat("!error upstream_error")).status).toBe(502);
  expect((await server.chat("Hello")).status).toBe(201);
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
});
