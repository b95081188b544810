// Errors of opening a database, and migrations, which only go forward.
import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { explainPostgres, explainSqlite } from "../../src/database/errors.ts";
import {
  DatabaseInUse,
  type DatabaseLocation,
  DatabaseUnusable,
  hasDatabase,
  NewerDatabase,
  openDatabase,
  type TransferPlace,
} from "../../src/database/index.ts";
import { lockDatabase } from "../../src/database/lock.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { installationStore } from "../../src/installation/index.ts";
import { modelStore } from "../../src/models/store.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock } from "../support/clock.ts";
import { holdWriteLock, start } from "../support/crash.ts";
import { failureOf, memory, openFiles, openTestDatabase } from "../support/database.ts";
import { openPostgres } from "../support/pglite.ts";
import { makeTrial, trialStore } from "../support/trial.ts";

const DATABASE = new URL("../../src/database/index.ts", import.meta.url).pathname;

const files = openFiles();
afterAll(() => files.release());
const { directory } = files;

const newest = migrations.at(-1)!.number;

const open = (place: DatabaseLocation, more = {}) =>
  openDatabase({ place, stores: [], clock: createManualClock(), onFailure: fail, ...more });
const openFile = (file: string, more = {}) => open({ kind: "sqlite", file }, more);
function fail(failure: unknown): never {
  throw failure;
}

test("a database and its directory are for their owner only, whatever the mask of the user", async () => {
  const own = join(directory, "own");
  const file = join(own, "wadi.db");
  const mask = process.umask(0o022);
  const database = await openFile(file, { exclusive: true }).finally(() => process.umask(mask));
  const modes = [own, file, `${file}-wal`, `${file}-commits`].map((path) => statSync(path).mode);
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o600, 0o600, 0o600]);
  await database.close();
});

for (const [engine, openGround] of [
  ["SQLite", openFiles],
  ["PostgreSQL", openPostgres],
] as const) {
  test(`a newer database is left alone on ${engine}`, async () => {
    const ground = await openGround();
    const place = await ground.makePlace();
    await (await openTestDatabase(place)).close();
    const failure = await failureOf(open(place));
    expect(failure).toBeInstanceOf(NewerDatabase);
    expect(failure.message).toBe(
      `the database is newer than this program (schema 9000, this program knows ${newest}): ` +
        "use the newer wadi, or restore a backup made by this one: `wadi restore FILE --data DIR`",
    );
    await ground.release();
  });

  test(`a takeover opens the data of the running server only on ${engine}`, async () => {
    const ground = await openGround();
    const place = await ground.makePlace();
    const first = await open(place, { stores });
    const { id: installation } = await first.bind(installationStore).find();
    const beside = (at: DatabaseLocation, id: string) =>
      open(at, { exclusive: "later", installation: id });
    await (await beside(place, installation)).close();
    const refusal = /^the running server serves other data than .*: restart the server instead$/;
    expect((await failureOf(beside(place, "other"))).message).toMatch(refusal);
    await first.close();
    // PGlite has one database, which this empties.
    const empty = await ground.makePlace();
    expect((await failureOf(beside(empty, installation))).message).toMatch(refusal);
    // Nothing was made there, not even a file.
    expect(await hasDatabase(empty as TransferPlace)).toBeFalse();
    if (empty.kind === "sqlite") {
      mkdirSync(dirname(empty.file));
      writeFileSync(empty.file, "");
      expect((await failureOf(beside(empty, installation))).message).toMatch(refusal);
      expect(await hasDatabase(empty)).toBeFalse();
    }
    await ground.release();
  });

  test(`a database of the first schema is migrated with its rows on ${engine}`, async () => {
    const ground = await openGround();
    const place = await ground.makePlace();
    const first = await open(place, { stores, migrations: migrations.slice(0, 1) });
    await first.bind(modelStore).see(["stub-1"], 7);
    await first.close();
    const second = await open(place, { stores });
    expect(await second.bind(modelStore).list(null)).toEqual([
      { id: "stub-1", first_seen_at: 7, is_off: false, is_blocked: false, is_granted: false },
    ]);
    await second.close();
    await ground.release();
  });

  test(`a migration that fails leaves nothing behind on ${engine}`, async () => {
    const ground = await openGround();
    const place = await ground.makePlace();
    const broken = {
      number: 8_000,
      name: "broken",
      statements: () => ["CREATE TABLE half (a TEXT)", "CREATE TABLE half (a TEXT)"],
    };
    expect((await failureOf(open(place, { migrations: [...migrations, broken] }))).message).toMatch(
      /half/,
    );
    const whole = { ...broken, statements: () => ["CREATE TABLE half (a TEXT)"] };
    await (await open(place, { migrations: [...migrations, whole] })).close();
    await ground.release();
  });
}

test("written rows are present when the file is opened again, with its counter", async () => {
  const place = await files.makePlace();
  const first = await openTestDatabase(place);
  await first.bind(trialStore).create(makeTrial("t-1"));
  await first.close();
  if (place.kind !== "sqlite") throw new Error("not a file");
  expect(readdirSync(join(place.file, "..")).sort()).toEqual(["wadi.db", "wadi.db-commits"]);
  const second = await openTestDatabase(place);
  expect(await second.bind(trialStore).count()).toBe(1);
  await second.close();
});

test("two programs open a fresh file at once", async () => {
  const file = join(directory, "fresh", "wadi.db");
  const script = `
    import { openDatabase } from "${DATABASE}";
    const place = { kind: "sqlite", file: ${JSON.stringify(file)} };
    console.log("ready");
    process.stdin.once("data", async () => {
      const database = await openDatabase({ place, stores: [], clock: { now: () => 0 } });
      await database.probe();
      await database.close();
      process.exit(0);
    });`;
  const programs = [1, 2, 3].map(() => start([process.execPath, "-e", script]));
  for (const program of programs) expect(await program.next()).toBe("ready");
  for (const program of programs) program.send("go");
  for (const program of programs)
    expect(await program.ended).toMatchObject({ code: 0, errors: "" });
});

test("a reader does not wait for writers", async () => {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  await (await openTestDatabase(place)).close();
  const holder = await holdWriteLock(place.file);
  const reader = await openTestDatabase(place);
  expect(await reader.bind(trialStore).count()).toBe(0);
  await reader.close();
  await holder.release();
});

test("reports a file that is no database, a directory in its place, and a file as its directory", async () => {
  const junk = join(directory, "junk.db");
  writeFileSync(junk, "nothing that SQLite wrote ".repeat(100));
  expect((await failureOf(openFile(junk))).message).toBe(
    `${junk} is no database of SQLite: move it away, or choose another data directory`,
  );
  const folder = join(directory, "folder.db");
  mkdirSync(folder);
  expect((await failureOf(openFile(folder))).message).toContain(
    `${directory} cannot be written to`,
  );
  expect((await failureOf(openFile(join(junk, "wadi.db")))).message).toBe(
    `${junk} cannot be a data directory: choose another`,
  );
});

test("the error names a data directory that is not writable", async () => {
  const closed = join(directory, "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  chmodSync(directory, 0o755);
  // Root may write everywhere, so the attempt is made as the user `nobody`.
  const script = `
    import { openDatabase } from "${DATABASE}";
    if (process.getuid() === 0) process.setuid(65534);
    const place = { kind: "sqlite", file: ${JSON.stringify(join(closed, "wadi.db"))} };
    await openDatabase({ place, stores: [], clock: { now: () => 0 } })
      .catch((failure) => console.log(failure.message));
    process.exit(0);`;
  const { lines } = await start([process.execPath, "-e", script]).ended;
  expect(lines).toEqual([
    `${closed} cannot be written to: give this user the right, or choose another directory`,
  ]);
});

test("the error names an unreachable PostgreSQL without its password", async () => {
  // Port 9 is the discard service's, which is not running.
  const url = "postgres://ann:secret@127.0.0.1:9/wadi";
  const failure = await failureOf(open({ kind: "postgres", url, connectionsMax: 2 }));
  expect(failure).toBeInstanceOf(DatabaseUnusable);
  expect(failure.message).toBe(
    "PostgreSQL at 127.0.0.1:9 does not answer: start it, or correct the address",
  );
});

test.each([
  ["28P01", 'PostgreSQL at db:5433 does not let the user "ann" in: correct its name or password'],
  ["3D000", 'PostgreSQL at db:5433 has no database "wadi": create it, or correct the name'],
  ["42501", 'does not let the user "ann" make tables in its database "wadi": grant that right'],
  ["53300", "has no connection left: raise its limit or close others"],
  ["25006", "is read-only: give the address of the one that takes writes"],
  ["57P03", "does not answer: start it, or correct the address"],
])("PostgreSQL's %s becomes a sentence", (errno, sentence) => {
  const failure = Object.assign(new Error("password secret"), { errno });
  const explained = explainPostgres("postgres://ann:secret@db:5433/wadi", failure) as Error;
  expect(explained).toBeInstanceOf(DatabaseUnusable);
  expect(explained.message).toContain(sentence);
  expect(explained.message).not.toContain("secret");
});

test.each([
  ["EROFS", "cannot be written to"],
  ["SQLITE_READONLY_DBMOVED", "cannot be written to"],
  ["ENOSPC", "is full: make room"],
  ["SQLITE_FULL", "is full: make room"],
  ["SQLITE_IOERR_SHMSIZE", "is full: make room"],
  ["SQLITE_CORRUPT", "is damaged: restore a backup with `wadi restore FILE --yes`"],
  ["SQLITE_BUSY", "locked: wait for it or end it"],
  ["SQLITE_IOERR_FSYNC", "fails to read or write"],
])("SQLite's and the system's %s becomes a sentence", (code, sentence) => {
  const explained = explainSqlite("/data/wadi.db", Object.assign(new Error(""), { code })) as Error;
  expect(explained).toBeInstanceOf(DatabaseUnusable);
  expect(explained.message).toContain(sentence);
  expect(explained.message).toContain("/data");
});

test("a bug while opening stays a bug, and an invalid address is reported", async () => {
  const bug = new TypeError("a bug");
  expect(explainSqlite("/data/wadi.db", bug)).toBe(bug);
  expect(explainPostgres("postgres://db/wadi", bug)).toBe(bug);
  const url = "postgres://ann:secret@[oops/wadi";
  const failure = await failureOf(open({ kind: "postgres", url, connectionsMax: 2 }));
  expect(failure.message).toBe(
    "the database's address cannot be read: write postgres://USER:PASSWORD@HOST/DATABASE",
  );
});

test("a data directory admits one server at a time, and the command line beside it", async () => {
  const place = await files.makePlace();
  const server = await openTestDatabase(place, true);
  const failure = await failureOf(openTestDatabase(place, true));
  expect(failure).toBeInstanceOf(DatabaseInUse);
  if (place.kind !== "sqlite") throw new Error("not a file");
  expect(failure.message).toBe(
    `another wadi process (a server, a move or a restore) uses ${join(place.file, "..")}: \
stop it, or give this one another database`,
  );
  const commandLine = await openTestDatabase(place);
  expect(await commandLine.bind(trialStore).create(makeTrial("t-1"))).toBe(true);
  await commandLine.close();
  await server.close();
  await (await openTestDatabase(place, true)).close();
});

test("a killed server no longer locks its data directory", async () => {
  const lock = new URL("../../src/database/lock.ts", import.meta.url).pathname;
  const file = join(directory, "held.db");
  const script = `
    const release = (await import("${lock}")).lockDatabase(${JSON.stringify(file)});
    console.log("locked");
    process.stdin.on("data", release);`;
  const server = start([process.execPath, "-e", script]);
  expect(await server.next()).toBe("locked");
  expect(() => lockDatabase(file)).toThrow(DatabaseInUse);
  server.kill();
  expect((await server.ended).signal).toBe("SIGKILL");
  lockDatabase(file)();
  expect(readdirSync(directory).filter((name) => name.startsWith("serve"))).toEqual(["serve.lock"]);
});

test("servers in memory are independent", async () => {
  const place = await memory.makePlace();
  const both = [await openTestDatabase(place, true), await openTestDatabase(place, true)];
  for (const database of both) await database.close();
});
