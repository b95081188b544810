// Where a test's data lies: in memory, or on the engine that the whole run was asked for.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import type { Place } from "../../src/platform/database/index.ts";

export interface TestPlace {
  place: Place;
  release(): Promise<void>;
}

/**
 * A place of the test's own. `WADI_TEST_PLACE=sqlite` or `=postgres` (on the server of WADI_TEST_POSTGRES) puts every
 * black-box test on that engine; otherwise they run in memory.
 */
export async function openTestPlace(place: Place | undefined, writer: URL): Promise<TestPlace> {
  if (place) return { place, release: async () => {} };
  switch (process.env.WADI_TEST_PLACE) {
    case "sqlite":
      return openFile(writer);
    case "postgres":
      return openPostgres(process.env.WADI_TEST_POSTGRES!);
    default:
      return { place: { kind: "memory" }, release: async () => {} };
  }
}

async function openFile(writer: URL): Promise<TestPlace> {
  const directory = mkdtempSync(join(tmpdir(), "wadi-test-"));
  return {
    place: { kind: "sqlite", file: join(directory, "wadi.db"), writer },
    release: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

async function openPostgres(server: string): Promise<TestPlace> {
  const name = `wadi_test_${randomUUID().replaceAll("-", "")}`;
  const run = async (text: string) => {
    const sql = new SQL({ url: server, max: 1 });
    await sql.unsafe(text);
    await sql.close();
  };
  await run(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    place: { kind: "postgres", url: url.href, connections_max: 4 },
    release: () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}
