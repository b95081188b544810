// The compiled server takes over other settings while a steady load runs on it, and drops nothing.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { Counter } from "../support/counter.ts";

const LOAD_A_SECOND = 50;
/** The load's own, so that none of it runs into the limits that the tests set. */
const PLENTY = 1_000_000;

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

function writeToml(models: readonly string[], limit = PLENTY): string {
  const blocks = models.map(
    (id) => `[[models]]
id = "${id}"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
`,
  );
  return `${blocks.join("")}[limits]\nrequests_per_minute = ${limit}\n`;
}

async function listModels(server: Server): Promise<string[]> {
  const reply = await server.ask("GET", "/v1/models");
  const { data } = (await reply.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => id !== "svc");
}

/** Sends this many requests a second until it ends; counts replies by status. */
function startLoad(server: Server) {
  const statuses: Record<string, number> = {};
  const requests: Promise<void>[] = [];
  const answered = new Counter();
  const ask = async (number: number) => {
    // Every fourth is a stream, and is read to its end.
    const body = number % 4 === 0 ? { stream: true } : {};
    let status: string;
    try {
      const reply = await server.chat("Hello", { body });
      const isWhole = !body.stream || (await reply.text()).endsWith("data: [DONE]\n\n");
      if (!body.stream) await reply.json();
      status = isWhole ? String(reply.status) : "cut";
    } catch (failure) {
      status = String(failure);
    }
    statuses[status] = (statuses[status] ?? 0) + 1;
    answered.add();
  };
  const timer = setInterval(() => requests.push(ask(requests.length)), 1_000 / LOAD_A_SECOND);
  return {
    /** Resolves after this many further replies. */
    pass: (more: number) => answered.pass(more),
    async end() {
      clearInterval(timer);
      await Promise.all(requests);
      return statuses;
    },
  };
}

test(`settings reload on SIGHUP and on a changed file under ${LOAD_A_SECOND} requests a second`, async () => {
  const file = join(room.directory, "load.toml");
  writeFileSync(file, writeToml(["one"]));
  const line = ["serve", "--port", "0", "--config", file];
  const server = await room.serve(line);
  const load = startLoad(server);
  await load.pass(20);

  writeFileSync(file, writeToml(["one", "two"]));
  server.signal("SIGHUP");
  await server.logged("models added: two");
  expect(await listModels(server)).toEqual(["one", "two"]);

  // As editors do: another file replaces it.
  writeFileSync(`${file}.new`, writeToml(["two", "three"]));
  renameSync(`${file}.new`, file);
  await server.logged("models added: three; models removed: one");
  expect(await listModels(server)).toEqual(["two", "three"]);
  expect((await server.chat("Hello", { body: { model: "three" } })).status).toBe(201);
  // An unknown id, and so answered by the default model.
  const unknown = await server.chat("Hello", { body: { model: "one" } });
  expect([unknown.status, unknown.headers.has("deprecation")]).toEqual([201, true]);

  writeFileSync(file, writeToml(["two", "three"]).replace("self_hosted", "self_hoisted"));
  const refused = await server.logged("settings: refused, the old ones stay");
  const { level, reason } = JSON.parse(refused);
  expect(level).toBe("error");
  expect(reason).toContain(`${file}:3:1: unknown setting "models[0].self_hoisted"`);
  rmSync(file);
  await server.logged("does not exist");
  expect(await listModels(server)).toEqual(["two", "three"]);
  writeFileSync(file, writeToml(["three"]));
  await server.logged("models removed: two");
  // Each of the two errors is logged once, however often the file is read.
  expect(server.countLogged("settings: refused")).toBe(2);

  await load.pass(20);
  const statuses = await load.end();
  expect(Object.keys(statuses)).toEqual(["201"]);
});

test("a limit applies from the next request, and keeps the requests already counted", async () => {
  const file = join(room.directory, "limit.toml");
  writeFileSync(file, writeToml(["one"], 5));
  const server = await room.serve(["dev", "--port", "0", "--config", file]);
  const ask = async () => (await server.chat("Hello")).status;
  for (let n = 0; n < 5; n++) expect(await ask()).toBe(201);
  expect(await ask()).toBe(429);
  writeFileSync(file, writeToml(["one"], 7));
  server.signal("SIGHUP");
  await server.logged("limits.requests_per_minute 5 -> 7");
  expect([await ask(), await ask(), await ask()]).toEqual([201, 201, 429]);
});

test("settings that need a restart are named, and the others are applied", async () => {
  const file = join(room.directory, "restart.toml");
  writeFileSync(file, writeToml(["one"]));
  const server = await room.serve(["dev", "--port", "0", "--config", file]);
  writeFileSync(file, `[service]\nalias = "other"\n${writeToml(["two"])}`);
  server.signal("SIGHUP");
  const line = await server.logged("old values stay until a restart");
  expect(JSON.parse(line).level).toBe("warn");
  expect(await listModels(server)).toEqual(["two"]);
});

test("without a file SIGHUP changes nothing", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  server.signal("SIGHUP");
  await server.logged("settings: nothing to reload");
  expect((await server.chat("Hello")).status).toBe(201);
});
