// Takeovers of the compiled server: a new process takes the place of the running one, on Linux.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { executable } from "../../scripts/build.ts";
import { openRaw } from "../http/raw-client.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { openServer } from "../support/database.ts";
import { listenForDatagrams } from "../support/datagrams.ts";
import { followRun } from "../support/follow-run.ts";

const POSTGRES = process.env.WADI_TEST_POSTGRES;

/** Each test has a room of its own: they wait for their servers side by side. */
const inRoom = (body: (room: Room) => Promise<void>) => async () => {
  const room = openRoom();
  try {
    await body(room);
  } finally {
    await room.close();
  }
};

const SERVE = ["serve", "--port", "0"];
const TAKEOVER = [...SERVE, "--takeover"];

const takeOver = (room: Room, env: Record<string, string> = {}): Promise<Server> =>
  room.serve(TAKEOVER, { env });

/** Requests a chat on a raw connection, as a client that keeps it. */
const writeChat = (key: string, content: string, stream = false): string => {
  const body = JSON.stringify({ messages: [{ role: "user", content }], stream });
  return [
    "POST /v1/chat/completions HTTP/1.1",
    "Host: localhost",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
};

const CALL = '!tool calculator {"expression":"2 + 3"}';

async function createAgent(server: Server): Promise<string> {
  const body = { name: "Clerk", system_prompt: "Be brief.", tools: ["calculator"] };
  const reply = await server.ask("POST", "/v1/agents", { body });
  return ((await reply.json()) as { id: string }).id;
}

async function startRun(server: Server, agent: string, message: string, key = server.key) {
  const body = { input: { message } };
  const reply = await server.ask("POST", `/v1/agents/${agent}/runs`, { key, body });
  return ((await reply.json()) as { id: string }).id;
}

const DONE = '"status":"succeeded"';
const RUNNING = '"status":"running"';

/** Resolves with the run's steps as a text, once its events show that text. */
async function waitForRun(server: Server, id: string, shown: string, key: string) {
  await followRun(server, id, shown, key);
  return (await server.ask("GET", `/v1/runs/${id}/steps`, { key })).text();
}

if (process.platform !== "linux") test.skip("a server takes over (Linux)", () => {});
else
  describe.concurrent("a server that is taken over", () => {
    test(
      "a takeover serves kept connections to their next reply and ends a stream whole",
      inRoom(async (room) => {
        const old = await room.serve(SERVE);
        const { key } = old;
        const kept = await openRaw(old.url);
        kept.write(writeChat(key, "Hello"));
        expect((await kept.read())!.status).toBe(201);
        const stream = await old.chat(`${"word ".repeat(40)}\n!delay 2s`, {
          body: { stream: true },
        });
        const next = await takeOver(room);
        expect(next.url).toBe(old.url);
        kept.write(writeChat(key, "Hello"));
        const reply = (await kept.read())!;
        expect([reply.status, reply.headers.connection]).toEqual([201, "close"]);
        await kept.closed;
        expect((await next.chat("Hello", { key })).status).toBe(201);
        expect(await stream.text()).toEndWith("data: [DONE]\n\n");
        expect(await old.exited).toBe(0);
        const socket = join(room.directory, "wadi-data", "control.sock");
        expect(existsSync(socket)).toBeTrue();
        await next.logged("takeover: the process before has ended");
        expect((await next.chat("Hello", { key })).status).toBe(201);
        const stray = await room.run(SERVE);
        expect(stray.code).toBe(1);
        next.signal("SIGTERM");
        expect(await next.exited).toBe(0);
        expect(existsSync(socket)).toBeFalse();
      }),
    );

    test(
      "with nobody running a takeover is a start, also beside the socket of a killed server",
      inRoom(async (room) => {
        const first = await takeOver(room);
        const socket = join(room.directory, "wadi-data", "control.sock");
        expect(statSync(socket).mode & 0o777).toBe(0o600);
        first.signal("SIGKILL");
        await first.exited;
        expect(existsSync(socket)).toBeTrue();
        const second = await takeOver(room);
        expect((await second.chat("Hello", { key: first.key })).status).toBe(201);
      }),
    );

    describe.serial("a server that refuses", () => {
      let shared: Room;
      let old: Server;
      beforeAll(async () => {
        shared = openRoom();
        old = await shared.serve(SERVE);
      });
      afterAll(() => shared.close());

      test("a server on other data keeps its port", async () => {
        const { port } = new URL(old.url);
        const taken = await shared.run(["serve", "--port", port, "--takeover", "--data", "other"]);
        expect(taken.stderr).toContain(`port ${port} on 127.0.0.1 is taken`);
        expect((await old.chat("Hello")).status).toBe(201);
      });

      const drop = ["setpriv", "--reuid=65534", "--clear-groups"];
      const isRoot = process.getuid?.() === 0 && Bun.which("setpriv") !== null;
      test.if(isRoot)("another user is told whose server it is", async () => {
        await Bun.$`chmod 755 ${shared.directory}`;
        for (const args of [["upgrade"], TAKEOVER]) {
          const failed = await shared.run([...args], {
            command: [...drop, executable()],
          });
          expect(failed.code).toBe(1);
          expect(failed.stderr).toContain(
            "may not be opened by this user: run the command as the user",
          );
        }
        expect((await old.chat("Hello")).status).toBe(201);
      });

      test("a takeover keeps the port of the running server", async () => {
        const { port } = new URL(old.url);
        const other = await shared.run(["serve", "--port", "1", "--takeover"]);
        expect(other.code).toBe(1);
        expect(other.stderr).toContain(
          `wadi: the running server listens on port ${port}, and a takeover cannot change it to 1: `,
        );
        expect((await old.chat("Hello")).status).toBe(201);
      });

      test("`wadi upgrade` says why the new process refuses its settings", async () => {
        const upstream =
          '{ kind = "openai", urls = ["http://127.0.0.1:1/v1"], api_key_env = "NO_KEY" }';
        await Bun.write(
          join(shared.directory, "wadi.toml"),
          `[[models]]\nid = "m"\nupstream = ${upstream}\n`,
        );
        const failed = await shared.run(["upgrade"]);
        expect(failed.code).toBe(1);
        expect(failed.stderr).toContain("the old one still serves: wadi.toml:");
        expect(failed.stderr).toContain("names an environment variable that is not set");
        expect((await old.chat("Hello")).status).toBe(201);
      });
    });

    test.if(POSTGRES !== undefined)(
      "a takeover keeps the data of the running server",
      inRoom(async (room) => {
        const setup = openServer(POSTGRES!, false);
        const place = await setup.makePlace();
        const old = await room.serve(SERVE);
        const url = place.kind === "postgres" ? place.url : "";
        const other = await room.run(TAKEOVER, { env: { WADI_SERVER__DATABASE: url } });
        expect(other.code).toBe(1);
        expect(other.stderr).toContain("the running server serves other data than PostgreSQL at ");
        expect((await old.chat("Hello")).status).toBe(201);
        await setup.release();
      }),
    );

    test(
      "a takeover knows a server whose control socket was removed, which SIGHUP puts back",
      inRoom(async (room) => {
        const old = await room.serve(SERVE);
        const socket = join(room.directory, "wadi-data", "control.sock");
        rmSync(socket);
        for (const args of [["upgrade"], TAKEOVER]) {
          const failed = await room.run(args);
          expect(failed.code).toBe(1);
          expect(failed.stderr).toContain("wadi-data has no control socket: send it SIGHUP");
        }
        old.signal("SIGHUP");
        await old.logged("settings: nothing to reload");
        while (!existsSync(socket)) await setImmediate();
        const next = await takeOver(room);
        expect(await old.exited).toBe(0);
        expect((await next.chat("Hello", { key: old.key })).status).toBe(201);
      }),
    );

    test(
      "a run continues in the new process without a recovery, unless the old one is killed",
      inRoom(async (room) => {
        const old = await room.serve(SERVE);
        const { key } = old;
        const agent = await createAgent(old);
        const spans = await startRun(old, agent, `Work.\n!delay 2s\n${CALL}\n!next\n!say Done.`);
        const endless = await startRun(old, agent, "Wait.\n!delay 10m\n!say At last.");
        const events = await old.ask("GET", `/v1/runs/${endless}/events`);
        const next = await takeOver(room);
        // Without [DONE] a client opens the stream again.
        expect(await events.text()).not.toContain("[DONE]");
        const run = await startRun(next, agent, "!say Hello", key);
        expect(await waitForRun(next, run, DONE, key)).not.toContain("recovered");
        expect(await waitForRun(next, spans, DONE, key)).not.toContain("recovered");
        // Its first round still waits for the model.
        expect(await waitForRun(next, endless, RUNNING, key)).not.toContain("recovered");
        old.signal("SIGKILL");
        await next.logged("takeover: the process before has ended");
        await followRun(next, endless, '"recovered"', key);
      }),
    );

    test(
      "a server goes on when the new one dies while it ends its requests",
      inRoom(async (room) => {
        const name = join(room.directory, "notify");
        const supervisor = listenForDatagrams(name);
        const old = await room.serve(SERVE, { env: { NOTIFY_SOCKET: name } });
        const { key } = old;
        const stream = await old.chat("word\n!delay 1s", { body: { stream: true } });
        // Another request keeps it waiting, however long the new process takes to start.
        const leaving = new AbortController();
        const body = { stream: true };
        const endless = await old.chat("!tokens 1\n!stall", { body, signal: leaving.signal });
        const next = await takeOver(room);
        await old.logged("another process serves");
        next.signal("SIGKILL");
        await next.exited;
        await old.logged("the other process has failed, and this one goes on");
        const mains = [next.pid, old.pid].map((pid) => `MAINPID=${pid}`);
        expect(supervisor.read()).toEqual(["READY=1", ...mains]);
        supervisor.close();
        expect((await old.chat("Hello")).status).toBe(201);
        expect(await stream.text()).toEndWith("data: [DONE]\n\n");
        leaving.abort();
        await endless.text().catch(() => {});
        // Another takeover finds it at the control socket.
        const last = await takeOver(room);
        expect((await last.chat("Hello", { key })).status).toBe(201);
        expect(await old.exited).toBe(0);
      }),
    );

    // The old server keeps its connections for a bounded time only.
    test.serial(
      "limits count across a takeover, for both processes at once",
      inRoom(async (room) => {
        const env = { WADI_LIMITS__REQUESTS_PER_MINUTE: "12" };
        const old = await room.serve(SERVE, { env });
        const { key } = old;
        const kept = await Promise.all(Array.from({ length: 3 }, () => openRaw(old.url)));
        const ask = async (client: (typeof kept)[number]) => {
          client.write(writeChat(key, "Hello"));
          return (await client.read())!.status;
        };
        for (const client of kept) expect(await ask(client)).toBe(201);
        const next = await takeOver(room, env);
        const chat = async () => (await next.chat("Hello", { key })).status;
        for (let n = 0; n < 4; n++) expect(await chat()).toBe(201);
        for (const client of kept.slice(0, 2)) expect(await ask(client)).toBe(201);
        for (let n = 0; n < 3; n++) expect(await chat()).toBe(201);
        expect(await chat()).toBe(429);
        // The old process is told by the new one that the account is closed.
        expect(await ask(kept[2]!)).toBe(429);
        expect(await old.exited).toBe(0);
        expect(await chat()).toBe(429);
      }),
    );

    test(
      "a new process that ends before it is ready changes nothing, twice",
      inRoom(async (room) => {
        const blocker = Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          fetch: () => new Response(""),
        });
        const old = await room.serve(SERVE);
        const kept = await openRaw(old.url);
        // It takes over the limits, and then finds the port of the operators taken.
        const env = { WADI_OPERATOR__LISTEN: `127.0.0.1:${blocker.port}` };
        for (let n = 0; n < 2; n++) {
          const failed = await room.run(TAKEOVER, { env });
          expect(failed.code).toBe(1);
          expect(failed.stderr).toContain(`port ${blocker.port} on 127.0.0.1 is taken`);
          expect((await old.chat("Hello")).status).toBe(201);
          kept.write(writeChat(old.key, "Hello"));
          expect((await kept.read())!.headers.connection).not.toBe("close");
        }
        expect(
          old.countLogged("takeover: the other process has failed, and this one goes on"),
        ).toBe(2);
        const run = await startRun(old, await createAgent(old), "!say Hello");
        await waitForRun(old, run, DONE, old.key);
        await blocker.stop(true);
        const next = await takeOver(room);
        expect(await old.exited).toBe(0);
        expect((await next.chat("Hello", { key: old.key })).status).toBe(201);
      }),
    );

    test(
      "`wadi upgrade` starts the program, tells systemd, and reports one that does not start",
      inRoom(async (room) => {
        const name = join(room.directory, "notify");
        const supervisor = listenForDatagrams(name);
        const old = await room.serve(SERVE, { env: { NOTIFY_SOCKET: name } });
        const broken = join(room.directory, "broken");
        await Bun.write(broken, "#!/bin/sh\necho no luck >&2\nexit 7\n");
        await Bun.$`chmod 755 ${broken}`;
        for (let n = 0; n < 2; n++) {
          const failed = await room.run(["upgrade", broken]);
          expect(failed.code).toBe(1);
          expect(failed.stderr).toContain("it ended with exit code 7");
          expect((await old.chat("Hello")).status).toBe(201);
        }
        expect(await old.logged("no luck")).toBe("no luck");
        for (const none of ["nothing", "."]) {
          const missing = await room.run(["upgrade", none]);
          expect(missing.stderr).toContain("is no program that may be executed");
        }
        const remote = await room.run(["upgrade", "--server", old.url]);
        expect(remote).toMatchObject({ code: 2 });
        expect(remote.stderr).toContain("upgrade works on the machine of the server only");
        const upgraded = await room.run(["upgrade", executable(), "--json"]);
        const { pid, replaced } = JSON.parse(upgraded.stdout);
        expect(replaced).toBe(old.pid);
        expect(await old.exited).toBe(0);
        expect(supervisor.read().slice(0, 2)).toEqual(["READY=1", `MAINPID=${pid}`]);
        supervisor.close();
        expect((await old.chat("Hello")).status).toBe(201);
        process.kill(pid, "SIGTERM");
        const nobody = await room.run(["upgrade", "--data", "empty"]);
        expect(nobody.stderr).toContain("no server runs on empty");
      }),
    );

    test(
      "`wadi upgrade` follows a script to the program that it starts",
      inRoom(async (room) => {
        const old = await room.serve(SERVE);
        const script = join(room.directory, "script");
        await Bun.write(script, `#!/bin/sh\n${executable()} "$@"\n`);
        await Bun.$`chmod 755 ${script}`;
        const upgraded = await room.run(["upgrade", script, "--json"]);
        expect(upgraded.stderr).not.toContain("wadi:");
        const { pid } = JSON.parse(upgraded.stdout);
        expect(await old.exited).toBe(0);
        expect((await old.chat("Hello")).status).toBe(201);
        process.kill(pid, "SIGTERM");
      }),
    );

    const alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
    const isolate = [...alone, "--mount-proc"];
    const isIsolated = Bun.which("unshare") !== null && Bun.spawnSync([...isolate, "true"]).success;
    test.if(isIsolated)(
      "a server that its container waits for refuses an upgrade",
      inRoom(async (room) => {
        const old = await room.serve(SERVE, { command: [...isolate, executable()] });
        const failed = await room.run(["upgrade"]);
        expect(failed.code).toBe(1);
        expect(failed.stderr).toContain("the container may end with the running server");
        expect((await old.chat("Hello")).status).toBe(201);
      }),
    );

    const lines = [
      `${executable()} "$@"`,
      `trap : TERM; ${executable()} "$@" & wait`,
      `${executable()} "$@" & wait $!`,
    ];
    test.if(isIsolated).each(lines)(
      "a server that a script waits for in a container refuses an upgrade: %s",
      (line) =>
        inRoom(async (room) => {
          const script = join(room.directory, "init.sh");
          await Bun.write(script, `#!/bin/sh\n${line}\n`);
          await Bun.$`chmod 755 ${script}`;
          const old = await room.serve(SERVE, { command: [...isolate, script] });
          const failed = await room.run(["upgrade"]);
          expect(failed.code).toBe(1);
          expect(failed.stderr).toContain("the container may end with the running server");
          expect((await old.chat("Hello")).status).toBe(201);
        })(),
    );
  });
