// Versions beside each other on one PostgreSQL: a test build becomes a newer version by a migration.
import { afterEach, describe, expect, test } from "bun:test";
import { executable } from "../../scripts/build.ts";
import type { ListedProcess } from "../../src/admin/index.ts";
import { MISSING, openCluster, type TestCluster } from "../support/cluster.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const EXPANSION = {
  ...{ number: 9_001, name: "expansion", kind: "expansion" },
  text: "ALTER TABLE agents ADD COLUMN trial TEXT",
};
const REMOVAL = { number: 9_002, name: "removal", text: "ALTER TABLE agents DROP COLUMN trial" };

if (MISSING) test.skip(`versions beside each other: ${MISSING}`, () => {});
else {
  describe("an older and a newer version on one PostgreSQL", () => {
    const open = async () => {
      const cluster = await openCluster();
      closing.push(cluster.close);
      return cluster;
    };
    const command = [executable({ failPoints: true })];
    const serve = (cluster: TestCluster, name: string, ...migrations: object[]) => {
      const env = { WADI_TRIAL_MIGRATIONS: JSON.stringify(migrations) };
      return cluster.serve(name, "", { command, env });
    };
    /** The sentence of a start that is refused. */
    const refuse = async (cluster: TestCluster, name: string, ...migrations: object[]) =>
      serve(cluster, name, ...migrations).then(
        () => "",
        (failure: Error) => failure.message,
      );
    const listSchemas = async (cluster: TestCluster) => {
      const { env } = cluster;
      const { stdout } = await cluster.room.run(["processes", "list", "--json"], { command, env });
      return (JSON.parse(stdout) as ListedProcess[]).map(({ schema }) => schema);
    };

    test("serve beside each other after an expansion, whichever starts last", async () => {
      const cluster = await open();
      const old = await serve(cluster, "old");
      const next = await serve(cluster, "new", EXPANSION);
      const { key } = old;
      for (const server of [old, next]) {
        const body = { name: "Clerk", system_prompt: "Be brief." };
        expect((await server.ask("POST", "/v1/agents", { key, body })).status).toBe(201);
        expect((await server.ask("GET", "/readyz")).status).toBe(200);
      }
      const third = await serve(cluster, "third");
      expect((await third.chat("Hello", { key })).status).toBe(201);
      let schemas = await listSchemas(cluster);
      while (schemas.includes(null)) schemas = await listSchemas(cluster);
      expect(schemas).toEqual([schemas[0]!, 9_001, schemas[0]!]);
    });

    test("a removal waits for the end of each older process, and keeps them off after that", async () => {
      const cluster = await open();
      const old = await serve(cluster, "old");
      const next = await serve(cluster, "new", EXPANSION);
      const sentence = "stop each server of an older version, then start this one";
      expect(await refuse(cluster, "newest", EXPANSION, REMOVAL)).toContain(sentence);
      old.signal("SIGTERM");
      expect(await old.exited).toBe(0);
      expect(await refuse(cluster, "newest", EXPANSION, REMOVAL)).toContain(sentence);
      expect((await next.chat("Hello", { key: old.key })).status).toBe(201);
      next.signal("SIGTERM");
      expect(await next.exited).toBe(0);
      const newest = await serve(cluster, "newest", EXPANSION, REMOVAL);
      expect((await newest.chat("Hello", { key: old.key })).status).toBe(201);
      expect(await refuse(cluster, "old")).toContain("the database is newer than this program");
    });

    test("a removal that is compatible from a version runs beside that one, not beside older", async () => {
      const cluster = await open();
      const old = await serve(cluster, "old");
      const next = await serve(cluster, "new", EXPANSION);
      const removal = { ...REMOVAL, compatible_from: EXPANSION.number };
      expect(await refuse(cluster, "newest", EXPANSION, removal)).toContain("an older version");
      old.signal("SIGTERM");
      expect(await old.exited).toBe(0);
      let schemas = await listSchemas(cluster);
      while (schemas.includes(null)) schemas = await listSchemas(cluster);
      const newest = await serve(cluster, "newest", EXPANSION, removal);
      for (const server of [next, newest]) {
        expect((await server.chat("Hello", { key: old.key })).status).toBe(201);
      }
      // The version that it is compatible from still starts, and an older one does not.
      const again = await serve(cluster, "again", EXPANSION);
      expect((await again.chat("Hello", { key: old.key })).status).toBe(201);
      expect(await refuse(cluster, "old")).toContain("the database is newer than this program");
    });
  });
}
