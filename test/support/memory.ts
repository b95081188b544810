// A database in memory copied with its tables, since creating them dominates opening.
import { Database as Connection } from "bun:sqlite";
import type { DatabaseLocation } from "../../src/database/index.ts";
import { migrateSqlite } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";

const images = new Map<string, Uint8Array>();

/** Adds tables of these migrations. */
export async function placeInMemory(...further: Migration[]): Promise<DatabaseLocation> {
  const name = further.map(({ name }) => name).join();
  const image = images.get(name) ?? (await makeImage([...migrations, ...further]));
  images.set(name, image);
  return { kind: "memory", image };
}

async function makeImage(all: readonly Migration[]): Promise<Uint8Array> {
  using connection = new Connection(":memory:");
  await migrateSqlite(connection, { migrations: all, now: 0, expandOnly: false });
  return connection.serialize();
}
