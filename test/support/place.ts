// Where a test's data lies: in memory, or on the engine that the whole run was asked for.
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Place } from "../../src/platform/database/index.ts";
import { createDatabase, dropDatabase, emptyDatabase } from "./postgres.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;

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
      return openPostgres(SERVER!);
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

/** Databases of this run whose tables are there and empty. */
const emptied: string[] = [];
afterAll(async () => {
  for (const url of emptied.splice(0)) await dropDatabase(SERVER!, url);
});

async function openPostgres(server: string): Promise<TestPlace> {
  const url = emptied.pop() ?? (await createDatabase(server));
  return {
    place: { kind: "postgres", url, connections_max: 4 },
    async release() {
      await emptyDatabase(url);
      emptied.push(url);
    },
  };
}
