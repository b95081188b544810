// The place of a test's data: in memory, or on the engine of the whole test run.
import { afterAll } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DatabaseLocation, openDatabase } from "../../src/database/index.ts";
import { createManualClock } from "./clock.ts";
import { placeInMemory } from "./memory.ts";
import { createDatabase, dropDatabase, emptyDatabase } from "./postgres.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;

export interface TestPlace {
  place: DatabaseLocation;
  release(): Promise<void>;
}

/**
 * Opens a separate place for a test, in memory by default. `WADI_TEST_PLACE=sqlite` or `=postgres`
 * (on the server of WADI_TEST_POSTGRES) runs every black-box test on that engine, `=processes` on
 * that server by two apps in turn.
 */
export async function openTestPlace(
  place: DatabaseLocation | undefined,
  writer: URL,
): Promise<TestPlace> {
  if (place) return { place, release: async () => {} };
  switch (process.env.WADI_TEST_PLACE) {
    case "sqlite":
      return openFile(writer);
    case "postgres":
      return openPostgres(SERVER!);
    case "processes":
      return openPostgres(SERVER!, true);
    default:
      return { place: await placeInMemory(), release: async () => {} };
  }
}

/** An empty database as bytes, since copying tables is faster than creating them. */
let original: Uint8Array | undefined;

async function openFile(writer: URL): Promise<TestPlace> {
  const directory = mkdtempSync(join(tmpdir(), "wadi-test-"));
  const file = join(directory, "wadi.db");
  if (original) writeFileSync(file, original);
  else {
    const clock = createManualClock();
    const place = { kind: "sqlite", file } as const;
    await (await openDatabase({ place, stores: [], clock, onFailure() {} })).close();
    original = readFileSync(file);
  }
  return {
    place: { kind: "sqlite", file, writer },
    release: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

const emptied: string[] = [];
afterAll(async () => {
  for (const url of emptied.splice(0)) await dropDatabase(SERVER!, url);
});

async function openPostgres(server: string, isShared = false): Promise<TestPlace> {
  const url = emptied.pop() ?? (await createDatabase(server));
  return {
    place: { kind: "postgres", url, connectionsMax: 2, isShared },
    async release() {
      await emptyDatabase(url);
      emptied.push(url);
    },
  };
}
