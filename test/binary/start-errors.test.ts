// A start that fails: one sentence with the error and its remedy, exit code 1, nothing else.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type RunOptions, type Server } from "../support/binary.ts";

let room: Room;
let running: Server;
beforeAll(async () => {
  room = openRoom();
  running = await room.serve(["serve", "--port", "0", "--data", "running"]);
});
afterAll(() => room.close());

const place = (...path: string[]) => join(room.directory, ...path);
const SERVERS = /^(serve|dev|version)\b/;
const expectSentence = async (line: string, says: string, options?: RunOptions) => {
  const run = SERVERS.test(line) ? room.run : room.perform;
  const { code, stdout, stderr } = await run(line.split(" "), options);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^wadi: [^\n]+\n$/);
  expect(stderr).toContain(says);
  return stderr;
};

test("a mistake in wadi.toml is named with file, line and key", async () => {
  writeFileSync(place("bad.toml"), "[server]\nport = 0\n\n[limits]\nrequests_per_minit = 5\n");
  for (const verb of ["serve", "dev", "keys list"]) {
    await expectSentence(`${verb} --config bad.toml`, "bad.toml:5:1: unknown setting");
  }
  writeFileSync(place("broken.toml"), "[server\n");
  await expectSentence("serve --config broken.toml", "broken.toml:2:1: not valid TOML");
});

test("a named settings file must exist", async () => {
  await expectSentence(
    "serve --config none.toml",
    "none.toml does not exist: correct --config, or write the file",
  );
});

test("an unknown environment variable is refused", async () => {
  const env = { WADI_SERVER__PROT: "1" };
  await expectSentence("serve", "did you mean WADI_SERVER__PORT?", { env });
});

test("a port in use is reported", async () => {
  const { port } = new URL(running.url);
  await expectSentence(`dev --port ${port}`, `port ${port} on 127.0.0.1 is taken`);
  await expectSentence(`serve --port ${port} --data other`, "choose another with --port");
});

test("a first start that finds its port in use has not consumed its key", async () => {
  const { port } = new URL(running.url);
  await expectSentence(`serve --port ${port} --data late`, "is taken");
  const server = await room.serve(["serve", "--port", "0", "--data", "late"]);
  expect(server.key).toStartWith("svc_sk_");
});

test("a second server on the same data directory is refused", async () => {
  await expectSentence(
    "serve --port 0 --data running",
    "another wadi process (a server, a move or a restore) uses running",
  );
});

test("a database of a newer version is refused", async () => {
  await room.perform(["accounts", "create", "acme", "--data", "newer"]);
  using connection = new Connection(place("newer/wadi.db"));
  connection.run("INSERT INTO wadi_schema VALUES (999999, 'later', 0)");
  await expectSentence("serve --port 0 --data newer", "newer than this program");
  await expectSentence("keys list --data newer", "newer than this program");
});

test("an unusable data directory is refused", async () => {
  writeFileSync(place("file"), "");
  await expectSentence("serve --port 0 --data file/inside", "file/inside cannot be");
  await expectSentence("accounts create acme --data file", "file cannot be");
  await expectSentence("serve --port 0 --data /proc/none", "/proc/none");
});

test("a file that is not a database is refused", async () => {
  mkdirSync(place("strange"));
  writeFileSync(place("strange/wadi.db"), "no database ".repeat(1_000));
  await expectSentence("serve --port 0 --data strange", "strange/wadi.db is no database");
  await expectSentence("keys list --data strange", "strange/wadi.db is no database");
});

test("a PostgreSQL server that does not reply is named without its password", async () => {
  const env = { WADI_SERVER__DATABASE: "postgres://wadi:canary@127.0.0.1:1/wadi" };
  for (const line of ["serve --port 0", "keys list"]) {
    const says = await expectSentence(line, "PostgreSQL at 127.0.0.1:1 does not answer", { env });
    expect(says).not.toContain("canary");
  }
});

test("`serve` refuses data of `dev`, and `dev` does not touch the data of a server", async () => {
  const dev = await room.serve(["dev", "--port", "0", "--data", "kept"]);
  dev.signal("SIGTERM");
  expect(await dev.exited).toBe(0);
  await expectSentence("serve --port 0 --data kept", "belongs to `wadi dev`");
  running.signal("SIGTERM");
  expect(await running.exited).toBe(0);
  await expectSentence("dev --port 0 --data running", "belongs to `wadi serve`");
});

test("environment variables that would load foreign code are refused", async () => {
  for (const name of ["BUN_OPTIONS", "NODE_OPTIONS"]) {
    await expectSentence("version", `${name} is set`, { env: { [name]: "--smol" } });
  }
});
