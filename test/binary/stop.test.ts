// The stop of the compiled server: requests in progress end, new ones are refused, and nothing
// delays it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { executable } from "../../scripts/build.ts";
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

test("SIGTERM and SIGINT end an idle server at once, with exit code 0", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    for (const verb of ["dev", "serve"]) {
      const server = await room.serve([verb, "--port", "0", "--data", `${verb}-${signal}`]);
      expect((await server.chat("Hello")).status).toBe(201);
      server.signal(signal);
      expect(await server.exited).toBe(0);
    }
  }
});

test("a request in progress completes, and new ones are refused", async () => {
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
    await server.logged("server: stopping when running requests have ended");
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

test("gateway.events.4 a request still open at the deadline gets an error, and the process exits normally", async () => {
  const env = { WADI_SERVER__STOP_TIMEOUT: "1s" };
  const server = await room.serve(["dev", "--port", "0"], { env });
  const stream = await openStream(server);
  const waiting = server.chat("!stall");
  await server.chat("Hello");
  server.signal("SIGTERM");
  let text = "";
  for (let read = await stream.read(); !read.done; read = await stream.read()) {
    text += new TextDecoder().decode(read.value);
  }
  expect(text).toMatch(/"code":"upstream_error".*\n\ndata: \[DONE\]\n\n$/s);
  expect((await waiting).status).toBe(502);
  expect(await server.exited).toBe(0);
});

test("a second signal ends it without waiting for requests", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  const stream = await openStream(server);
  server.signal("SIGTERM");
  await server.logged("server: stopping when running requests have ended");
  server.signal("SIGTERM");
  expect(await server.exited).toBe(1);
  // The caller is left with a cut stream, not with a clean end.
  const read = async () => {
    while (!(await stream.read()).done);
  };
  await expect(read()).rejects.toThrow();
});

test("it serves and stops in order when its output is not read", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  await server.stopReading();
  expect((await server.chat("!error upstream_error")).status).toBe(502);
  expect((await server.chat("Hello")).status).toBe(201);
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
});

test("a server whose terminal is closed stops, although SIGHUP otherwise reloads", async () => {
  const shown = Promise.withResolvers<void>();
  let text = "";
  const child = Bun.spawn([executable(), "dev", "--port", "0"], {
    cwd: room.directory,
    env: { PATH: process.env.PATH, HOME: room.directory },
    terminal: {
      data(_, bytes) {
        text += new TextDecoder().decode(bytes);
        if (/^curl [^\n]*\n/m.test(text)) shown.resolve();
      },
    },
  });
  await shown.promise;
  child.terminal!.close();
  // A shell sends this signal to its children.
  child.kill("SIGHUP");
  expect(await child.exited).toBe(0);
});
