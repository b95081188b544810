// The compiled program's `models`, `accounts grant` and `keys rotate` beside a running `serve`.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";

const SETTINGS = `
[service]
default_model = "main"
[[models]]
id = "main"
self_hosted = true
upstream = { kind = "stub" }
[[models]]
id = "rented"
visibility = "private"
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"], api_key_env = "RENTED_KEY" }
`;

let room: Room;
let server: Server;
let key: string;
/** Only the server has the key of the model's own server: the command line needs none. */
const serve = () => room.serve(["serve", "--port", "0"], { env: { RENTED_KEY: "k" } });
beforeAll(async () => {
  room = openRoom();
  writeFileSync(join(room.directory, "wadi.toml"), SETTINGS);
  expect((await room.perform(["accounts", "create", "acme"])).code).toBe(0);
  key = (await room.perform(["keys", "create", "--account", "acme"])).stdout.trim();
  server = await serve();
});
afterAll(() => room.close());

/** Output of a command with --json and without. */
const run = async (line: string) => {
  const { code, stdout, stderr } = await room.perform([...line.split(" "), "--json"]);
  expect([line, code, stdout.split("\n").length]).toEqual([line, 0, 2]);
  return { row: JSON.parse(stdout), stderr };
};
const chat = async (model?: string, at = key) => {
  const reply = await server.chat("Hello", { key: at, body: { model } });
  const body = (await reply.json()) as { error?: { code: string } };
  return body.error?.code ?? reply.status;
};
const list = async () => {
  const reply = await server.ask("GET", "/v1/models", { key });
  const { data } = (await reply.json()) as { data: { id: string; status: string }[] };
  return data.map(({ id, status }) => `${id} ${status}`);
};

test("a switch applies from the next request, to its own model only", async () => {
  const all = async () => [await list(), await chat("main"), await chat()];
  const gone = "no_model_available";
  const on = [["svc on", "main on"], 201, 201];
  const off = [["svc offline", "main offline"], "model_offline", gone];
  const blocked = [[], "model_unavailable", gone];
  expect(await all()).toEqual(on);
  for (const [verb, state, seen, says] of [
    ["off", "off", off, "it is the default model"],
    ["block", "blocked", blocked, "it is the default model"],
    ["on", "blocked", blocked, "it stays blocked: `wadi models unblock main`"],
    ["off", "blocked", blocked, "it is the default model"],
    ["unblock", "off", off, "it stays off: `wadi models on main`"],
    ["on", "on", on, ""],
    ["on", "on", on, ""],
  ] as const) {
    const { row, stderr } = await run(`models ${verb} main`);
    expect([verb, row.id, row.state]).toEqual([verb, "main", state]);
    expect(stderr).toStartWith(says);
    expect([verb, await all()]).toEqual([verb, seen] as never);
  }
});

test("models are listed with their state, as a table and as JSON", async () => {
  await run("models off rented");
  const { row } = await run("models list");
  expect(row).toMatchObject([
    { id: "main", is_default: true, state: "on", upstream: "stub", visibility: "public" },
    {
      id: "rented",
      upstream: "openai",
      is_default: false,
      state: "off",
      is_off: true,
      is_blocked: false,
    },
  ]);
  expect(row[0].first_seen_at).toMatch(/Z$/);
  const { stdout } = await room.perform(["models", "list"]);
  expect(stdout).toMatch(/^ID +STATE +REPLICAS +PROVIDER +UPSTREAM +CAPABILITIES +/);
  expect(stdout).toMatch(/\nmain \(default\) +on +.*\nrented +off +.*\n$/);
  await run("models on rented");
});

test("a grant and its revocation apply from the next request", async () => {
  expect([await chat("rented"), await list()]).toEqual(["model_not_found", ["svc on", "main on"]]);
  await run("accounts grant acme rented");
  // The address has no listener.
  expect([await chat("rented"), (await list())[2]]).toEqual(["upstream_error", "rented on"]);
  await run("accounts ungrant acme rented");
  expect(await chat("rented")).toBe("model_not_found");
  const { stderr } = await run("accounts grant acme main");
  expect(stderr).toStartWith("the grant opens nothing: main needs none");
});

test("a rotated key has two secrets, until the next rotation or until both are revoked", async () => {
  const made = await run("keys create --account acme");
  const { id, secret: first } = made.row;
  const { row, stderr } = await run(`keys rotate ${id}`);
  const { secret: second, previous_secret_expires_at: until, ...shown } = row;
  expect({ ...shown, secret: first }).toEqual(made.row);
  expect(stderr).toBe(
    `key ${id} has a new secret, and the old one works until ${until}; it is shown only now:\n`,
  );
  // A day, less what this took.
  expect(Date.parse(until) - Date.now()).toBeWithin(86_400_000 - 60_000, 86_400_001);
  const replies = [first, second].map((secret) => chat("main", secret));
  expect(await Promise.all(replies)).toEqual([201, 201]);

  const third = await room.perform(["keys", "rotate", id, "--overlap", "0s"]);
  expect(third.stdout).toMatch(/^svc_sk_[0-9A-Za-z]{49}\n$/);
  expect(third.stderr).toContain("the old one is refused");
  const left = [first, second, third.stdout.trim()].map((secret) => chat("main", secret));
  expect(await Promise.all(left)).toEqual(["invalid_api_key", "invalid_api_key", 201]);
});

test("a start prints which models are switched off, and keeps their states", async () => {
  await run("models block main");
  await run("models off rented");
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
  server = await serve();
  expect(server.banner).toContain("models    main (default, blocked) rented (off)");
  expect(await chat("main")).toBe("model_unavailable");
  expect((await server.ask("GET", "/readyz")).status).toBe(503);
  await run("models unblock main");
  expect(await chat()).toBe(201);
});
