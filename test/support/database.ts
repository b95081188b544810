// Empty test databases on every engine, with the trial store beside the program's stores.
import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Database, type DatabaseLocation, openDatabase } from "../../src/database/index.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { placeInMemory } from "./memory.ts";
import { createDatabase, createEmptyDatabase, dropDatabase, emptyDatabase } from "./postgres.ts";
import { rootedTrialStore } from "./rooted-trials.ts";
import { trialMigration, trialStores } from "./trial.ts";

export const WRITER = new URL("./database-writer.ts", import.meta.url);

export interface TestDatabase extends Database {
  failures: { failure: unknown; isFatal: boolean }[];
  failed: Promise<{ failure: unknown; isFatal: boolean }>;
}

export async function openTestDatabase(
  place: DatabaseLocation,
  exclusive = false,
): Promise<TestDatabase> {
  const failures: TestDatabase["failures"] = [];
  const failed = Promise.withResolvers<TestDatabase["failures"][number]>();
  const database = await openDatabase({
    place: place.kind === "memory" ? await placeInMemory(trialMigration) : place,
    stores: [...trialStores, rootedTrialStore],
    migrations: [...migrations, trialMigration],
    clock: createSystemClock(),
    exclusive,
    onFailure(failure, isFatal) {
      failures.push({ failure, isFatal });
      failed.resolve({ failure, isFatal });
    },
  });
  return { ...database, failures, failed: failed.promise };
}

/** The rejection of `work`; `expect().rejects` would block a PGlite in this thread. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (failure) {
    return failure as Error;
  }
  throw new Error("it did not fail");
}

/** Creates databases; each place is empty and used once. */
export interface Ground {
  makePlace(): Promise<DatabaseLocation>;
  release(): Promise<void>;
}

export const memory: Ground = {
  makePlace: async () => ({ kind: "memory" }),
  release: async () => {},
};

/** Files in a separate directory; with `writer` a Worker writes them. */
export function openFiles(writer?: URL): Ground & { directory: string } {
  const directory = mkdtempSync(join(tmpdir(), "wadi-store-"));
  return {
    directory,
    makePlace: async () => ({
      kind: "sqlite",
      file: join(directory, randomUUID(), "wadi.db"),
      writer,
    }),
    release: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Files with tables that are created once, which takes a fifth of the time. */
export function openCopies(writer?: URL): Ground {
  const { directory, makePlace, release } = openFiles(writer);
  const original = join(directory, "original.db");
  return {
    async makePlace() {
      if (!existsSync(original)) {
        await (await openTestDatabase({ kind: "sqlite", file: original })).close();
      }
      const place = (await makePlace()) as DatabaseLocation & { kind: "sqlite" };
      mkdirSync(dirname(place.file));
      copyFileSync(original, place.file);
      return place;
    },
    release,
  };
}

/** A PostgreSQL server whose user may create databases; each place is a new one. */
export function openServer(server: string, hasTables = true): Ground {
  const made: string[] = [];
  return {
    async makePlace() {
      const url = await (hasTables ? createDatabase : createEmptyDatabase)(server);
      made.push(url);
      return { kind: "postgres", url, connectionsMax: 16 };
    },
    async release() {
      for (const url of made) await dropDatabase(server, url);
    },
  };
}

/** One database of a server, which is emptied for each use. */
export function openEmptiedServer(server: string): Ground {
  const { makePlace, release } = openServer(server);
  let place: DatabaseLocation & { kind: "postgres" };
  return {
    async makePlace() {
      if (place) await emptyDatabase(place.url);
      else place = (await makePlace()) as typeof place;
      return place;
    },
    release,
  };
}
