// `wadi serve --processes N`: several compiled servers on one port, of which each is replaced.
import { afterEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ListedProcess } from "../../src/admin/index.ts";
import { openRoom, type Server } from "../support/binary.ts";
import { MISSING, openCluster, type TestCluster } from "../support/cluster.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("several servers need PostgreSQL and Valkey, and a number that fits", async () => {
  const room = openRoom();
  closing.push(room.close);
  for (const [args, sentence] of [
    [["2"], "--processes needs PostgreSQL and Valkey: set `database` and `valkey`"],
    [["65"], "--processes takes 1 to 64"],
    [["two"], '--processes takes a whole number, but is "two"'],
  ] as const) {
    const ended = await room.run(["serve", "--port", "0", "--processes", ...args]);
    expect([ended.code, ended.stderr]).toEqual([2, `wadi: ${sentence}\n`]);
  }
});

if (MISSING) test.skip(`several servers: ${MISSING}`, () => {});
else {
  describe("several servers under one supervisor", () => {
    const open = async (count = 3) => {
      const cluster = await openCluster();
      closing.push(cluster.close);
      const server = await cluster.serve("one", "", {
        args: ["serve", "--port", "0", "--processes", String(count)],
      });
      await waitFor(cluster, (rows) => rows.length === count && rows.every(({ pid }) => pid));
      return { cluster, server };
    };
    const list = async (cluster: TestCluster): Promise<ListedProcess[]> =>
      JSON.parse((await cluster.command("one", "processes", "list", "--json")).stdout);
    async function waitFor(cluster: TestCluster, isIt: (rows: ListedProcess[]) => boolean) {
      for (;;) {
        const rows = await list(cluster);
        if (isIt(rows)) return rows;
      }
    }
    /** Each request has a connection of its own. */
    const ask = (server: Server) =>
      fetch(`${server.url}/v1/models`, {
        headers: { authorization: `Bearer ${server.key}`, connection: "close" },
        keepalive: false,
      }).then(
        ({ status }) => status,
        () => "cut",
      );
    const pidsOf = (rows: readonly ListedProcess[]) => rows.map(({ pid }) => pid!);

    test("serve one port together, each on its own number, and all end with it", async () => {
      const { cluster, server } = await open();
      const rows = await list(cluster);
      const { port } = new URL(server.url);
      expect(new Set(rows.map(({ address }) => address!.split(":")[1]))).toEqual(new Set([port]));
      expect(new Set([...pidsOf(rows), server.pid]).size).toBe(4);
      const statuses = await Promise.all(Array.from({ length: 60 }, () => ask(server)));
      expect(new Set(statuses)).toEqual(new Set([200]));
      server.signal("SIGTERM");
      expect(await server.exited).toBe(0);
      expect(await list(cluster)).toEqual([]);
    });

    test("a killed one is replaced, and one that is told to stop, too", async () => {
      const { cluster, server } = await open();
      const [first, second] = pidsOf(await list(cluster));
      process.kill(first!, "SIGKILL");
      process.kill(second!, "SIGTERM");
      const isReplaced = (rows: ListedProcess[]) =>
        rows.filter(({ pid }) => pid && pid !== first && pid !== second).length === 3;
      await waitFor(cluster, isReplaced);
      expect(server.countLogged("processes: a server has ended and is replaced")).toBe(2);
      expect(await ask(server)).toBe(200);
    });

    test("one that is frozen is ended and replaced", async () => {
      const { cluster, server } = await open(2);
      const [frozen, other] = pidsOf(await list(cluster));
      process.kill(frozen!, "SIGSTOP");
      await server.logged("processes: a server does not answer and is ended");
      const rows = await waitFor(
        cluster,
        (all) => all.length === 2 && all.every(({ pid }) => pid && pid !== frozen),
      );
      expect(pidsOf(rows)).toContain(other!);
      expect(await ask(server)).toBe(200);
    });

    test("SIGHUP reaches all of them", async () => {
      const { cluster, server } = await open();
      cluster.writeSettings("one", "[limits]\nrequests_per_minute = 7\n");
      server.signal("SIGHUP");
      const isDone = () => server.countLogged("requests_per_minute 120 -> 7") === 3;
      while (!isDone()) await setImmediate();
      expect(new Set((await list(cluster)).map(({ settings }) => settings)).size).toBe(1);
    });

    test("they end when their supervisor is killed", async () => {
      const { cluster, server } = await open(2);
      server.signal("SIGKILL");
      await server.exited;
      await waitFor(cluster, (rows) => rows.length === 0);
    });

    test("a taken port, and settings that are refused, end the start with a sentence", async () => {
      const { cluster, server } = await open(2);
      const { port } = new URL(server.url);
      const args = ["serve", "--processes", "2", "--port"];
      const taken = await cluster.command("one", ...args, port);
      expect(taken.code).toBe(1);
      expect(taken.stderr).toContain(`port ${port} on 127.0.0.1 is taken`);
      writeFileSync(join(cluster.room.directory, "one", "wadi.toml"), "[limit]\n");
      const refused = await cluster.command("one", ...args, "0");
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain("unknown setting");
    });
  });
}
