// Databases for tests: empty ones on every engine, with the trial store beside the program's own.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { createSystemClock } from "../../src/platform/clock.ts";
import { type Database, openDatabase, type Place } from "../../src/platform/database/index.ts";
import { migrations } from "../../src/platform/database/migrations/index.ts";
import { createDatabase, dropDatabase, EMPTY, emptyDatabase } from "./postgres.ts";
import { trialMigration, trialStores } from "./trial.ts";

export const WRITER = new URL("./database-writer.ts", import.meta.url);

export interface TestDatabase extends Database {
  /** What was told to onFailure. */
  failures: { failure: unknown; isFatal: boolean }[];
  /** Resolves with the first of them. */
  failed: Promise<{ failure: unknown; isFatal: boolean }>;
}

/** Opens the program's stores and the trial store on `place`. */
export async function openTestDatabase(place: Place, exclusive = false): Promise<TestDatabase> {
  const failures: TestDatabase["failures"] = [];
  const failed = Promise.withResolvers<TestDatabase["failures"][number]>();
  const database = await openDatabase({
    place,
    stores: trialStores,
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

/** What `work` is rejected with; `expect().rejects` would hold up a PGlite in this same thread. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (failure) {
    return failure as Error;
  }
  throw new Error("it did not fail");
}

/** A ground on which databases can be made: each place is empty and nobody else's. */
export interface Ground {
  makePlace(): Promise<Place>;
  release(): Promise<void>;
}

export const memory: Ground = {
  makePlace: async () => ({ kind: "memory" }),
  release: async () => {},
};

/** Files in a directory of their own; `writer`: written by a Worker. */
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

/** PostgreSQL in WebAssembly: one session, one database, without tables each time. */
export async function openPglite(): Promise<Ground> {
  const { engine, ...ground } = await servePglite();
  const makePlace = async () => {
    await engine.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return ground.place;
  };
  return { makePlace, release: ground.release };
}

/** The same with its tables made once and emptied each time, which takes a tenth as long. */
export async function openEmptiedPglite(): Promise<Ground> {
  const { engine, place, release } = await servePglite();
  const makePlace = async () => {
    await engine.exec(EMPTY);
    return place;
  };
  return { makePlace, release };
}

async function servePglite() {
  const engine = await PGlite.create();
  const server = new PGLiteSocketServer({ db: engine, port: 0, maxConnections: 8 });
  // All connections are one session: the next would find the last one's prepared statements.
  server.addEventListener("connection", () => void engine.exec("DISCARD ALL"));
  await server.start();
  const url = `postgres://postgres@${server.getServerConn()}/postgres`;
  const place: Place = { kind: "postgres", url, connections_max: 1 };
  const release = async () => {
    await server.stop();
    await engine.close();
  };
  return { engine, place, release };
}

/** A real server, whose user may make databases: each place is one of its own. */
export function openServer(server: string): Ground {
  const made: string[] = [];
  return {
    async makePlace() {
      const url = await createDatabase(server);
      made.push(url);
      return { kind: "postgres", url, connections_max: 16 };
    },
    async release() {
      for (const url of made) await dropDatabase(server, url);
    },
  };
}

/** The same with one database, which is emptied for whoever is next. */
export function openEmptiedServer(server: string): Ground {
  const { makePlace, release } = openServer(server);
  let place: Place & { kind: "postgres" };
  return {
    async makePlace() {
      if (place) await emptyDatabase(place.url);
      else place = (await makePlace()) as typeof place;
      return place;
    },
    release,
  };
}
