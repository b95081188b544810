// Locks on the files of an open SQLite database, and their removal.
import { afterAll, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseInUse, DatabaseLost } from "../../src/database/errors.ts";
import { findDamage, isLocked } from "../../src/database/index.ts";
import { lockDatabase } from "../../src/database/lock.ts";
import { findDamageInWorker } from "../../src/database/page-checks.ts";
import { start } from "../support/crash.ts";
import { failureOf, openFiles, openTestDatabase, WRITER } from "../support/database.ts";
import { makeTrial, trialStore } from "../support/trial.ts";

const files = openFiles();
afterAll(() => files.release());

async function openServer() {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const { file } = place;
  const database = await openTestDatabase({ ...place, writer: WRITER }, true);
  // The answer follows the Worker's first check of the files.
  await database.bind(trialStore).create(makeTrial("t-0"));
  return { file, database };
}

/** The kernel's locks on a file, without their numbers and processes. */
function listLocks(file: string): string[] {
  const { ino } = statSync(file);
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.includes(`:${ino} `))
    .map((line) => line.replace(/^\d+: (\S+) +\S+ +(\S+) .* (\d+) (\d+)$/, "$1 $2 $3 $4"))
    .sort();
}

const LOCKS = [
  "OFDLCK WRITE 4611686018427387904 4611686018427387904",
  "POSIX READ 1073741826 1073742335",
];
const LOCKS_OF_INDEX = ["POSIX READ 128 128"];

test.if(process.platform === "linux")(
  "the locks of the kernel and of SQLite survive other work on the same files",
  async () => {
    const { file, database } = await openServer();
    const check = () => {
      expect(listLocks(file)).toEqual(LOCKS);
      expect(listLocks(`${file}-shm`)).toEqual(LOCKS_OF_INDEX);
    };
    check();
    rmSync(join(dirname(file), "serve.lock"));
    const inUse = `another wadi process (a server, a move or a restore) uses ${dirname(file)}`;
    expect((await failureOf(openTestDatabase({ kind: "sqlite", file }, true))).message).toContain(
      inUse,
    );
    check();
    const commandLine = await openTestDatabase({ kind: "sqlite", file });
    await commandLine.bind(trialStore).create(makeTrial("t-1"));
    await commandLine.close();
    check();
    expect(findDamage(file)).toBeNull();
    expect(await findDamageInWorker(WRITER, file, new AbortController().signal)).toBeNull();
    check();
    // A separate process that opens and closes the file keeps the log.
    const other = start([
      process.execPath,
      "-e",
      `new (require("bun:sqlite").Database)(process.argv[1]).query("SELECT count(*) FROM trials").get()`,
      file,
    ]);
    expect(await other.ended).toMatchObject({ code: 0 });
    expect(existsSync(`${file}-wal`)).toBe(true);
    expect(await database.bind(trialStore).count()).toBe(2);
    await database.close();
    expect(listLocks(file)).toEqual([]);
  },
);

test.if(process.platform === "linux")("a lock that is refused leaves nothing locked", async () => {
  const { file, database } = await openServer();
  await database.close();
  const release = lockDatabase(file);
  rmSync(join(dirname(file), "serve.lock"));
  expect(() => lockDatabase(file)).toThrow(DatabaseInUse);
  release();
  lockDatabase(file)();
});

test("a look at the lock tells of a server, and takes nothing that another one needs", async () => {
  const { file, database } = await openServer();
  const place = { kind: "sqlite", file } as const;
  expect(await isLocked(place)).toBe(true);
  await database.close();
  const lock = join(dirname(file), "serve.lock");
  rmSync(lock);
  expect(await isLocked(place)).toBe(false);
  expect(existsSync(lock)).toBe(process.platform !== "linux");
  const none = `${file}.none`;
  expect([await isLocked({ ...place, file: none }), existsSync(none)]).toEqual([false, false]);
});

const replace = (path: string) => {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
};

test.each<[string, (file: string) => void, string]>([
  ["the database was removed", rmSync, "wadi.db"],
  ["the database was moved", (file) => renameSync(file, `${file}.away`), "wadi.db"],
  ["the database was replaced", replace, "wadi.db"],
  ["its log was removed", (file) => rmSync(`${file}-wal`), "wadi.db-wal"],
  ["its log was replaced", (file) => replace(`${file}-wal`), "wadi.db-wal"],
  ["its index was removed", (file) => rmSync(`${file}-shm`), "wadi.db-shm"],
  [
    "its directory was moved",
    (file) => renameSync(dirname(file), `${dirname(file)}.away`),
    "wadi.db",
  ],
  [
    "its directory was replaced",
    (file) => {
      renameSync(dirname(file), `${dirname(file)}.away`);
      mkdirSync(dirname(file));
      copyFileSync(join(`${dirname(file)}.away`, "wadi.db"), file);
    },
    "wadi.db",
  ],
])("where %s under a server, it writes nothing more and must exit", async (_how, act, name) => {
  const { file, database } = await openServer();
  act(file);
  const { failure, isFatal } = await database.failed;
  expect(failure).toBeInstanceOf(DatabaseLost);
  expect(isFatal).toBe(true);
  const sentence = `${join(dirname(file), name)} was removed, moved or replaced while the server ran: \
put the right files in place, and start it again`;
  expect((failure as Error).message).toBe(sentence);
  expect((await failureOf(database.bind(trialStore).create(makeTrial("t-1")))).message).toBe(
    sentence,
  );
  expect((await failureOf(database.probe())).message).toBe(sentence);
});

test("where the database is a link, the log beside its target is checked", async () => {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const real = join(dirname(place.file), "real.db");
  mkdirSync(dirname(place.file));
  symlinkSync(real, place.file);
  const database = await openTestDatabase({ ...place, writer: WRITER }, true);
  await database.bind(trialStore).create(makeTrial("t-0"));
  rmSync(`${real}-wal`);
  const { failure } = await database.failed;
  expect((failure as Error).message).toStartWith(`${real}-wal was removed, moved or replaced`);
});
