// The compiled server among others on its data: what operators see of processes and ask of them.
import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { SQL } from "bun";
import type { ListedProcess } from "../../src/admin/index.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { MISSING, openCluster, type TestCluster } from "../support/cluster.ts";
import { followRun } from "../support/follow-run.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const list = async (run: Room["run"]): Promise<ListedProcess[]> =>
  JSON.parse((await run(["processes", "list", "--json"])).stdout);
const askReady = async (server: Server) => {
  const reply = await server.ask("GET", "/readyz");
  return { status: reply.status, lines: (await reply.text()).trimEnd().split("\n") };
};
/** Asks again and again, since `/readyz` keeps an answer for a second. */
async function waitForReady(server: Server, isIt: (line: string) => boolean) {
  for (;;) {
    const { lines } = await askReady(server);
    if (lines.some(isIt)) return;
  }
}

describe("one server", () => {
  const open = async (settings = "") => {
    const room = openRoom();
    closing.push(room.close);
    writeFileSync(join(room.directory, "wadi.toml"), settings);
    return { room, server: await room.serve(["serve", "--port", "0"]) };
  };

  test("is listed with its number, address, program, schema, settings, and what it holds", async () => {
    const { room, server } = await open();
    // It tells of itself behind its start.
    let rows = await list(room.run);
    while (rows[0]!.address === null) rows = await list(room.run);
    const { port } = new URL(server.url);
    expect(rows).toEqual([
      {
        ...{ epoch: 1, state: "serving", pid: server.pid, settings_fault: null },
        ...{ is_reload_pending: false, runs: 0, deliveries: 0, leases: [] },
        address: expect.stringMatching(new RegExp(`^.+:${port}$`)),
        version: JSON.parse((await room.run(["version", "--json"])).stdout).version,
        schema: expect.any(Number),
        started_at: expect.any(String),
        settings: expect.stringMatching(/^[0-9a-f]{12}$/),
      },
    ]);
  });

  test("reads its settings again by `wadi reload`", async () => {
    const { room, server } = await open();
    const file = join(room.directory, "wadi.toml");
    const [before] = await list(room.run);
    writeFileSync(file, "[limits]\nrequests_per_minute = 7\n");
    const done = await room.run(["reload", "--json"]);
    expect(done.code).toBe(0);
    expect(server.countLogged("limits.requests_per_minute 120 -> 7")).toBe(1);
    const [after] = JSON.parse(done.stdout);
    expect(after.settings).not.toBe(before!.settings);
  });

  test("that was drained is not ready, still answers, and ends when it is told to stop", async () => {
    const { room, server } = await open();
    const wrong = await room.run(["processes", "drain", "2"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      "wadi: there is no process 2: `wadi processes list` shows them\n",
    ]);
    const drained = await room.run(["processes", "drain", "1", "--json"]);
    expect(drained.code).toBe(0);
    expect(JSON.parse(drained.stdout)).toMatchObject({ epoch: 1, state: "drained" });
    const { status, lines } = await askReady(server);
    expect([status, lines[0]]).toEqual([503, "not ready"]);
    expect((await server.chat("Hello")).status).toBe(201);
    server.signal("SIGTERM");
    expect(await server.exited).toBe(0);
    expect(await list(room.run)).toEqual([]);
  });
});

if (MISSING) test.skip(`several servers: ${MISSING}`, () => {});
else {
  describe("several servers on one PostgreSQL", () => {
    const open = async (): Promise<TestCluster> => {
      const cluster = await openCluster();
      closing.push(cluster.close);
      return cluster;
    };
    const run =
      (cluster: TestCluster): Room["run"] =>
      (args) =>
        cluster.command("one", ...args);

    /** On a busy machine Valkey answers late, and nothing is counted for a second. */
    async function post(server: Server, path: string, body: object): Promise<{ id: string }> {
      for (;;) {
        const reply = await server.ask("POST", path, { body });
        if (reply.status === 429) continue;
        const made = await reply.json();
        if (!reply.ok) throw new Error(`${path}: ${JSON.stringify(made)}`);
        return made as { id: string };
      }
    }

    async function startRun(server: Server, message: string): Promise<string> {
      const body = { name: "Clerk", system_prompt: "Be brief." };
      const agent = await post(server, "/v1/agents", body);
      return (await post(server, `/v1/agents/${agent.id}/runs`, { input: { message } })).id;
    }

    test("one that is drained hands its runs over to the others, and takes no more", async () => {
      const cluster = await open();
      const one = await cluster.serve("one");
      const held = await startRun(one, "!say Whole\n!delay 2s");
      await followRun(one, held, '"status":"running"');
      const two = await cluster.serve("two");
      const rows = await list(run(cluster));
      expect(rows.map(({ epoch, pid, runs }) => [epoch, pid, runs])).toEqual([
        [1, one.pid, 1],
        [2, two.pid, 0],
      ]);
      const drained = await cluster.command("one", "processes", "drain", "1", "--json");
      expect(JSON.parse(drained.stdout)).toMatchObject({ state: "drained", runs: 0 });
      await followRun(two, held, '"status":"succeeded"', one.key);
      // A run that it starts is executed by the other.
      const fresh = await startRun(one, "!say Other\n!delay 500ms");
      await followRun(two, fresh, '"status":"running"', one.key);
      // The one that does not execute it tells of the reply under way, too.
      await followRun(one, fresh, '"type":"message.snapshot"', one.key, "?deltas=true");
      expect((await list(run(cluster))).map(({ state, runs }) => [state, runs])).toEqual([
        ["drained", 0],
        ["serving", 1],
      ]);
      expect((await askReady(one)).status).toBe(503);
      expect((await askReady(two)).status).toBe(200);
      await followRun(two, fresh, '"status":"succeeded"', one.key);
    });

    test("`wadi reload` reaches all, and a difference of settings is told", async () => {
      const cluster = await open();
      const [one, two] = [await cluster.serve("one"), await cluster.serve("two")];
      const same = await cluster.command("one", "reload", "--json");
      expect([same.code, same.stderr]).toEqual([0, ""]);
      const limit = "[limits]\nrequests_per_minute = 7\n";
      for (const name of ["one", "two"]) cluster.writeSettings(name, limit);
      const done = await cluster.command("one", "reload", "--json");
      expect([done.code, done.stderr]).toEqual([0, ""]);
      for (const server of [one, two]) {
        expect(server.countLogged("limits.requests_per_minute 120 -> 7")).toBe(1);
      }
      const hashes = JSON.parse(done.stdout).map((row: ListedProcess) => row.settings);
      expect(new Set(hashes).size).toBe(1);
      cluster.writeSettings("two", "[limits]\nrequests_per_minute = 8\n");
      const other = await cluster.command("one", "reload");
      expect(other.stderr).toBe(
        "the processes have different settings: give them the same file, and `wadi reload`\n",
      );
      for (const server of [one, two]) {
        await waitForReady(server, (line) => line === "settings differ");
        expect((await askReady(server)).status).toBe(200);
      }
      cluster.writeSettings("two", "[limits]\nrequest_per_minute = 7\n");
      const refused = await cluster.command("one", "reload");
      expect(refused.code).toBe(1);
      expect(refused.stdout).toContain('did you mean "limits.requests_per_minute"?');
      cluster.writeSettings("two", limit);
      expect((await cluster.command("one", "reload")).stderr).toBe("");
      await waitForReady(one, (line) => line === "ready");
    });

    test("a rotation seals nothing before every live process has both keys", async () => {
      const cluster = await open();
      await cluster.serve("one");
      await cluster.serve("two");
      const keys = cluster.file("one", "secrets.key");
      const [old] = readFileSync(keys, "utf8").trimEnd().split("\n");
      const rotating = cluster.command("one", "secrets", "rotate", "--json");
      let both = [old!];
      while (both.length < 2) {
        await setImmediate();
        both = readFileSync(keys, "utf8").trimEnd().split("\n");
      }
      const database = new SQL({ url: cluster.url, max: 1 });
      closing.push(() => database.close());
      const readKey = async () => (await database`SELECT key_id FROM secrets_key`)[0]?.key_id;
      const before = await readKey();
      // As a person copies it to the other machine.
      writeFileSync(cluster.file("two", "secrets.key"), `${both.join("\n")}\n`);
      const rotated = await rotating;
      expect(JSON.parse(rotated.stdout)).toMatchObject({ is_resumed: false });
      expect(await readKey()).not.toBe(before);
      expect(readFileSync(keys, "utf8")).toBe(`${both[0]}\n`);
    });
  });
}
