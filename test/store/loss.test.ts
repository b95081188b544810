// Detection of commits that a SQLite database has lost, before any write.

import { Database as Connection } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readNotedCommits } from "../../src/database/commit-counter.ts";
import { GroupCommit } from "../../src/database/group-commit.ts";
import { DatabaseUnusable, openDatabase, openSnapshot } from "../../src/database/index.ts";
import { keepLog } from "../../src/database/loss.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { createRegistry } from "../../src/database/registry.ts";
import { openConnection } from "../../src/database/sqlite.ts";
import { createManualClock } from "../support/clock.ts";
import { start } from "../support/crash.ts";
import { failureOf, openFiles, openTestDatabase, WRITER } from "../support/database.ts";
import { makeTrial, trialMigration, trialStore, trialStores } from "../support/trial.ts";

const files = openFiles();
afterAll(() => files.release());

const DATABASE_TEST = new URL("../support/database.ts", import.meta.url).pathname;
const TRIAL = new URL("../support/trial.ts", import.meta.url).pathname;

async function makeFile(): Promise<string> {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  return place.file;
}

/** Opens the file as a start does; `accepted` is the accepted loss. */
async function openServer(file: string, accepted?: string[]) {
  return openDatabase({
    place: { kind: "sqlite", file },
    stores: trialStores,
    migrations: [...migrations, trialMigration],
    clock: createManualClock(),
    exclusive: true,
    acceptLoss: accepted && ((what) => void accepted.push(what)),
    onFailure(failure) {
      throw failure;
    },
  });
}

/** Makes `commits` commits in a server that is then killed, and keeps its files. */
async function commitAndDie(file: string, commits: number): Promise<void> {
  const script = `
    const { openTestDatabase, WRITER } = await import("${DATABASE_TEST}");
    const { makeTrial, trialStore } = await import("${TRIAL}");
    const place = { kind: "sqlite", file: ${JSON.stringify(file)}, writer: WRITER };
    const database = await openTestDatabase(place, true);
    for (let n = 1; n <= ${commits}; n++) await database.bind(trialStore).create(makeTrial("t-" + n));
    console.log("written");
    process.stdin.resume();`;
  const child = start([process.execPath, "-e", script]);
  const line = await child.next();
  child.kill();
  const { errors } = await child.ended;
  if (line !== "written") throw new Error(errors);
}

const WAY_ON = "or go on without it with `wadi serve --accept-loss`";
const describeLoss = (file: string, missing: number, of: number, kept = "") =>
  `${file} lacks the last ${missing} of ${of} commits${kept}: ` +
  `put back the files that belong to it, ${WAY_ON}`;
const countTrials = async (file: string) => {
  const database = await openTestDatabase({ kind: "sqlite", file });
  const count = await database.bind(trialStore).count();
  await database.close();
  return count;
};

test("a killed server's commits are present, and its counter agrees", async () => {
  const file = await makeFile();
  await commitAndDie(file, 5);
  expect(await countTrials(file)).toBe(5);
});

test("a truncated log is refused with the number of its commits, and set aside", async () => {
  const file = await makeFile();
  await commitAndDie(file, 6);
  const log = readFileSync(`${file}-wal`);
  // The last commit has at least one frame.
  truncateSync(`${file}-wal`, log.length - 1);
  const cut = readFileSync(`${file}-wal`);
  // A command has no lock, beside which the log may be written to.
  expect((await failureOf(countTrials(file))).message).toBe(describeLoss(file, 1, 6));
  expect(existsSync(`${file}-wal.behind-6`)).toBe(false);
  const kept = ` (its log is kept as wadi.db-wal.behind-6)`;
  for (let times = 0; times < 2; times++) {
    const failure = await failureOf(openServer(file));
    expect(failure).toBeInstanceOf(DatabaseUnusable);
    expect(failure.message).toBe(describeLoss(file, 1, 6, kept));
  }
  // The command line and a backup refuse it as well, and the log is unchanged.
  expect((await failureOf(countTrials(file))).message).toBe(describeLoss(file, 1, 6, kept));
  const reading = openSnapshot({ kind: "sqlite", file });
  expect((await failureOf(reading)).message).toBe(describeLoss(file, 1, 6, kept));
  expect(readFileSync(`${file}-wal`)).toEqual(cut);
  expect(readFileSync(`${file}-wal.behind-6`)).toEqual(cut);
  // With the intact log restored, it starts normally.
  writeFileSync(`${file}-wal`, log);
  expect(await countTrials(file)).toBe(6);
});

test.each(["emptied", "deleted", "flipped"])(
  "a log that was %s is refused, and accepted on request",
  async (how) => {
    const file = await makeFile();
    await commitAndDie(file, 7);
    const log = readFileSync(`${file}-wal`);
    rmSync(`${file}-shm`);
    if (how === "deleted") rmSync(`${file}-wal`);
    if (how === "emptied") truncateSync(`${file}-wal`, 0);
    // A bad checksum in the first frame invalidates all later frames.
    if (how === "flipped") writeFileSync(`${file}-wal`, log.fill(0x55, 48, 50));
    const kept = how === "flipped" ? " (its log is kept as wadi.db-wal.behind-7)" : "";
    const sentence = describeLoss(file, 7, 7, kept);
    expect((await failureOf(openServer(file))).message).toBe(sentence);
    const accepted: string[] = [];
    const database = await openServer(file, accepted);
    expect(accepted).toEqual([sentence]);
    expect(await database.bind(trialStore).count()).toBe(0);
    await database.bind(trialStore).create(makeTrial("t-1"));
    await database.close();
    // One acceptance suffices, and the numbers continue.
    await (await openServer(file)).close();
    expect(readFileSync(`${file}-commits`, "latin1")).toContain("0000000000000008");
  },
);

test("a missing or empty database is refused; a copy without its counter is not", async () => {
  const file = await makeFile();
  await commitAndDie(file, 3);
  expect(await countTrials(file)).toBe(3);
  const copy = await makeFile();
  mkdirSync(dirname(copy));
  copyFileSync(file, copy);
  expect(await countTrials(copy)).toBe(3);
  truncateSync(file, 0);
  expect((await failureOf(openServer(file))).message).toBe(describeLoss(file, 3, 3));
  rmSync(file);
  expect((await failureOf(openServer(file))).message).toBe(describeLoss(file, 3, 3));
  // An older copy lacks later commits.
  copyFileSync(copy, file);
  expect(await countTrials(file)).toBe(3);
});

test("a counter behind its database catches up, as after a loss of power", async () => {
  const file = await makeFile();
  await commitAndDie(file, 2);
  const early = readFileSync(`${file}-commits`);
  await commitAndDie(await makeFile(), 1);
  const database = await openServer(file);
  await database.bind(trialStore).create(makeTrial("later"));
  await database.close();
  writeFileSync(`${file}-commits`, early);
  expect(await countTrials(file)).toBe(3);
  expect(readFileSync(`${file}-commits`, "latin1")).toContain("0000000000000003");
});

test("a torn slot leaves the other one valid, and an unreadable counter is recreated", async () => {
  const file = await makeFile();
  await commitAndDie(file, 4);
  const text = readFileSync(`${file}-commits`, "latin1");
  const torn = text.replace("0000000000000004", "0000000000000094");
  writeFileSync(`${file}-commits`, torn, "latin1");
  expect(await countTrials(file)).toBe(4);
  writeFileSync(`${file}-commits`, "");
  expect(await countTrials(file)).toBe(4);
  expect(readFileSync(`${file}-commits`, "latin1")).toContain("0000000000000004");
  expect(statSync(`${file}-commits`).mode & 0o777).toBe(statSync(file).mode & 0o777);
});

test.skipIf(process.getuid?.() !== 0)(
  "a counter that root recreates belongs to the owner of the database",
  async () => {
    const file = await makeFile();
    await (await openServer(file)).close();
    rmSync(`${file}-commits`);
    chownSync(file, 4_321, 4_322);
    expect(await countTrials(file)).toBe(0);
    const { uid, gid } = statSync(`${file}-commits`);
    expect([uid, gid]).toEqual([4_321, 4_322]);
  },
);

test("several processes write in turns, and the counter counts every commit", async () => {
  const file = await makeFile();
  const server = await openTestDatabase({ kind: "sqlite", file, writer: WRITER }, true);
  const commandLine = await openTestDatabase({ kind: "sqlite", file });
  for (let n = 1; n <= 10; n++) {
    const writer = n % 3 === 0 ? commandLine : server;
    await writer.bind(trialStore).create(makeTrial(`t-${n}`));
  }
  await commandLine.close();
  await server.close();
  expect(readFileSync(`${file}-commits`, "latin1")).toContain("0000000000000010");
  using connection = new Connection(file, { readonly: true });
  expect(connection.query("SELECT commits FROM wadi_commits").values()).toEqual([[10]]);
});

test("a write that changes nothing does not count as a commit", async () => {
  const file = await makeFile();
  const database = await openTestDatabase({ kind: "sqlite", file });
  await database.bind(trialStore).create(makeTrial("t-1"));
  await database.bind(trialStore).create(makeTrial("t-1"));
  await database.close();
  using connection = new Connection(file, { readonly: true });
  expect(connection.query("SELECT commits FROM wadi_commits").values()).toEqual([[1]]);
});

test("a secrets key without a database, or with an empty one, is refused; --accept-loss starts", async () => {
  const file = await makeFile();
  mkdirSync(dirname(file));
  writeFileSync(join(dirname(file), "secrets.key"), "a key");
  const sentence =
    `${dirname(file)} has a secrets.key, and its database is missing or empty: put it back, ` +
    WAY_ON;
  expect((await failureOf(openServer(file))).message).toBe(sentence);
  writeFileSync(file, "");
  expect((await failureOf(openServer(file))).message).toBe(sentence);
  expect((await failureOf(countTrials(file))).message).toBe(sentence);
  const accepted: string[] = [];
  await (await openServer(file, accepted)).close();
  expect(accepted).toEqual([sentence]);
  // A first start that died after creating the key has its tables.
  rmSync(`${file}-commits`);
  await (await openServer(file)).close();
  expect(existsSync(`${file}-commits`)).toBe(true);
});

test("a failed commit is not counted, so the next start does not miss it", async () => {
  const file = await makeFile();
  expect(await countTrials(file)).toBe(0);
  const connection = openConnection(file);
  const run = connection.run.bind(connection);
  connection.run = (text: string) => {
    if (text === "COMMIT") throw new Error("the disk fails");
    return run(text);
  };
  const group = new GroupCommit(connection, createRegistry(trialStores));
  const before = readNotedCommits(file);
  const call = { store: trialStore.name, method: "create", args: [makeTrial("t-1")] };
  expect((await group.commit([call])).outcomes).toMatchObject([{ ok: false }]);
  expect(readNotedCommits(file)).toBe(before);
  group.close();
  connection.close();
  expect(await countTrials(file)).toBe(0);
});

test("a log has its kept name only once its copy is whole", async () => {
  const file = await makeFile();
  const kept = `${file}-wal.behind-7`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  writeFileSync(`${file}-wal`, "the log");
  // The copy cannot be written.
  mkdirSync(`${kept}.part`);
  expect(() => keepLog(file, { noted: 7, loss: "" })).toThrow();
  expect(existsSync(kept)).toBe(false);
  rmdirSync(`${kept}.part`);
  keepLog(file, { noted: 7, loss: "" });
  expect(readFileSync(kept, "utf8")).toBe("the log");
  expect(existsSync(`${kept}.part`)).toBe(false);
});

test("the log of a database behind a link is kept beside the link, once", async () => {
  const file = await makeFile();
  const link = `${file}.link`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  writeFileSync(`${file}-wal`, "the log");
  symlinkSync(file, link);
  keepLog(link, { noted: 7, loss: "" });
  expect(readFileSync(`${link}-wal.behind-7`, "utf8")).toBe("the log");
  writeFileSync(`${file}-wal`, "cut");
  keepLog(link, { noted: 7, loss: "" });
  expect(readFileSync(`${link}-wal.behind-7`, "utf8")).toBe("the log");
});
