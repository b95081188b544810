// PostgreSQL in WebAssembly for tests: one session and one database, on every machine.
import { existsSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import manifest from "../../package.json" with { type: "json" };
import { executable } from "../../scripts/build.ts";
import type { DatabaseLocation } from "../../src/database/index.ts";
import { type Ground, openServer } from "./database.ts";
import { EMPTY } from "./postgres.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;

/** An empty PostgreSQL for each use: the configured server, or PGlite. */
export async function openPostgres(): Promise<Ground> {
  return SERVER ? openServer(SERVER, false) : openPglite();
}

/** One for all test files of a process, since creating it takes seconds. */
let served: ReturnType<typeof serve> | undefined;

async function openPglite(): Promise<Ground> {
  served ??= serve();
  const { engine, place } = await served;
  const makePlace = async () => {
    await engine.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return place;
  };
  return { makePlace, release: async () => {} };
}

/** Asks inside the transaction that a connection to the PGlite has open. */
export async function askInTransaction(text: string): Promise<unknown[]> {
  const { engine } = await served!;
  return (await engine.query(text)).rows;
}

/** A PostgreSQL whose tables are created once and emptied, which takes a tenth of the time. */
export async function openEmptiedPglite(): Promise<Ground> {
  const ground = await openPglite();
  const { engine } = await served!;
  let place: DatabaseLocation | undefined;
  const makePlace = async () => {
    if (place) await engine.exec(EMPTY);
    place ??= await ground.makePlace();
    return place;
  };
  return { ...ground, makePlace };
}

/** Cached beside the builds, since creating one takes six times as long as reading it. */
const ORIGINAL = join(
  dirname(executable()),
  `pglite-${manifest.devDependencies["@electric-sql/pglite"]}.tar`,
);

async function createEngine(): Promise<PGlite> {
  if (existsSync(ORIGINAL)) return PGlite.create({ loadDataDir: Bun.file(ORIGINAL) });
  const engine = await PGlite.create();
  const aside = `${ORIGINAL}.${process.pid}`;
  await Bun.write(aside, await engine.dumpDataDir("none"));
  renameSync(aside, ORIGINAL);
  return engine;
}

async function serve() {
  const engine = await createEngine();
  const server = new PGLiteSocketServer({ db: engine, port: 0, maxConnections: 8 });
  // All connections share one session, and so its prepared statements.
  server.addEventListener("connection", () => void engine.exec("DISCARD ALL"));
  await server.start();
  const url = `postgres://postgres@${server.getServerConn()}/postgres`;
  const place: DatabaseLocation = { kind: "postgres", url, connectionsMax: 1 };
  return { engine, place };
}
