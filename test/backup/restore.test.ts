// Tests backups of each engine, restored into each engine, and what no restore accepts.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import * as files from "node:fs";
import {
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { restoreBackup } from "../../src/backup/index.ts";
import { processStore } from "../../src/cluster/index.ts";
import * as database from "../../src/database/index.ts";
import {
  DatabaseInUse,
  lockPlace,
  openDatabase,
  openLoader,
  pickMigrations,
  type TransferPlace,
} from "../../src/database/index.ts";
import * as locks from "../../src/database/lock.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { parseRow } from "../../src/database/transfer/row.ts";
import { installationStore } from "../../src/installation/index.ts";
import { stores } from "../../src/stores.ts";
import { failureOf, type Ground, openTestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { openPostgres } from "../support/pglite.ts";
import { backUp, clock, fill, makeDirectory, placeFile, readAll } from "./fixture.ts";

let ground: Ground;
let original: TransferPlace;
let content: Record<string, string[]>;
let backup: string;
let key: string;
const OTHER_KEY = `${"A".repeat(43)}=\n`;

beforeAll(async () => {
  ground = await openPostgres();
  original = placeFile();
  key = join(makeDirectory(), "secrets.key");
  await fill(original, key);
  content = await readAll(original);
  backup = join(makeDirectory(), "one.backup");
  await backUp(original, backup);
});
afterAll(() => ground.release());

const restore = (place: TransferPlace, file = backup, replaces = false, secretsKeyFile?: string) =>
  restoreBackup({
    ...{ file, place, placeName: "the target", replaces, clock, secretsKeyFile },
    ids: createSeededIds(7),
  });
const makePostgres = async () => (await ground.makePlace()) as TransferPlace;

const open = (place: TransferPlace) => {
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  return openDatabase({ place, stores, clock, onFailure });
};

async function readState(place: TransferPlace) {
  const opened = await open(place);
  const state = await opened.bind(installationStore).find();
  await opened.close();
  return state;
}

async function listProcesses(place: TransferPlace): Promise<number[]> {
  const opened = await open(place);
  const alive = await opened.bind(processStore).list();
  await opened.close();
  return alive.map(({ epoch }) => epoch);
}

/** Begins a process that never ends, which is a commit. */
async function beginProcess(place: TransferPlace): Promise<number> {
  const opened = await open(place);
  const epoch = await opened.bind(processStore).register(clock.now());
  await opened.close();
  return epoch;
}

describe("a restored copy", () => {
  test("has every row, in SQLite and in PostgreSQL, and back again", async () => {
    expect(Object.values(content).flat().length).toBeGreaterThan(100);
    const file = placeFile();
    await restore(file);
    expect(await readAll(file)).toEqual(content);
    const server = await makePostgres();
    await restore(server);
    expect(await readAll(server)).toEqual(content);
    const again = join(makeDirectory(), "again.backup");
    await backUp(server, again);
    const back = placeFile();
    await restore(back, again);
    expect(await readAll(back)).toEqual(content);
  });

  test("is an installation of its own, which is paused and names its origin", async () => {
    const file = placeFile();
    const { installation_id } = await restore(file);
    const state = await readState(file);
    expect(state).toMatchObject({ restored_from: installation_id, paused_at: clock.now() });
    expect(state.id).not.toBe(installation_id!);
    expect((await readState(original)).paused_at).toBeNull();
  });

  test("has no process of the original, which may go on", async () => {
    const running = placeFile();
    await restore(running);
    const epoch = await beginProcess(running);
    const file = join(makeDirectory(), "running.backup");
    await backUp(running, file);
    const copy = placeFile();
    // An empty file has no data to lose.
    writeFileSync(copy.file, "");
    await restore(copy, file);
    expect(await listProcesses(copy)).toEqual([]);
    expect(await listProcesses(running)).toEqual([epoch]);
  });

  test("lacks no commits of the data that it replaced", async () => {
    const place = placeFile();
    await restore(place);
    await beginProcess(place);
    await restore(place, backup, true);
    expect(await listProcesses(place)).toEqual([]);
    expect(await readAll(place)).toEqual(content);
  });

  test("is on the disk before it has its name, and the name before the restore ends", async () => {
    const { fsyncSync, renameSync } = files;
    const done: string[] = [];
    using _ = spyOn(files, "fsyncSync").mockImplementation((descriptor) => {
      done.push("sync");
      fsyncSync(descriptor);
    });
    using __ = spyOn(files, "renameSync").mockImplementation((from, to) => {
      done.push("rename");
      renameSync(from, to);
    });
    await restore(placeFile());
    expect(done).toEqual(["sync", "rename", "sync"]);
  });

  test("is behind the link that led to the data before", async () => {
    const place = placeFile();
    const link = placeFile();
    await restore(place);
    symlinkSync(place.file, link.file);
    await restore(link, backup, true);
    expect(lstatSync(link.file).isSymbolicLink()).toBe(true);
    await beginProcess(link);
    expect(await listProcesses(place)).toHaveLength(1);
  });

  test("of an older schema is brought forward to the newest", async () => {
    const old = placeFile();
    const numbers = migrations.map(({ number }) => number).filter((number) => number <= 14);
    const loader = openLoader(old, { now: 1 });
    await loader.transact(async (load) => {
      const tables = await load.create(pickMigrations(numbers));
      const find = (table: string) => tables.find(({ name }) => name === table)!;
      await load.insert(find("accounts"), ['["a-1","acme",5]']);
      await load.insert(find("sweeps"), ["[1,null,null]"]);
    });
    await loader.close();
    const file = join(makeDirectory(), "old.backup");
    const { manifest } = await backUp(old, file);
    expect(manifest).toMatchObject({ schema: numbers, installation_id: null });
    const copy = placeFile();
    await restore(copy, file);
    expect((await readAll(copy)).accounts).toEqual(['["a-1","acme",5,null]']);
    expect((await readState(copy)).paused_at).toBe(clock.now());
  });
});

describe("a backup", () => {
  test("is readable by its owner only, and never replaces a file", async () => {
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const before = readFileSync(backup);
    expect((await failureOf(backUp(original, backup))).message).toBe(
      `${backup} exists, and no backup replaces a file`,
    );
    expect(readFileSync(backup)).toEqual(before);
    expect(readdirSync(dirname(backup))).toEqual(["one.backup"]);
  });

  test("closes its snapshot, also where it fails", async () => {
    const closed: string[] = [];
    const { openSnapshot } = database;
    using _ = spyOn(database, "openSnapshot").mockImplementation(async (...asked) => {
      const snapshot = await openSnapshot(...asked);
      const close = async () => {
        await snapshot.close();
        closed.push("one");
      };
      return { ...snapshot, close };
    });
    const directory = makeDirectory();
    await backUp(original, join(directory, "whole"));
    await failureOf(backUp(original, join(directory, "failed"), join(directory, "no key")));
    expect(closed).toEqual(["one", "one"]);
  });

  test("holds the secrets key only where it is asked for", async () => {
    const { manifest } = await backUp(original, join(makeDirectory(), "with"), key);
    expect(manifest.secrets_key).toBe(readFileSync(key, "latin1"));
    expect((await restore(placeFile())).secrets_key).toBeNull();
  });

  test("with a key that does not open its secrets is refused, and leaves no file", async () => {
    const directory = makeDirectory();
    const other = join(directory, "secrets.key");
    const file = join(directory, "with");
    const refusal = async () => (await failureOf(backUp(original, file, other))).message;
    expect(await refusal()).toBe(`there is no secrets key ${other} to put into the backup`);
    writeFileSync(other, "garbage");
    expect(await refusal()).toBe(`the secrets key ${other} cannot be used (it holds no key)`);
    writeFileSync(other, OTHER_KEY);
    expect(await refusal()).toStartWith(`${other} is another key than that of the secrets (`);
    expect(readdirSync(directory)).toEqual(["secrets.key"]);
  });

  test("of a place without data fails and leaves no file", async () => {
    const file = join(makeDirectory(), "none.backup");
    const failure = await failureOf(backUp(placeFile(), file));
    expect(failure.message).toBe(
      "there is no data of Wadi there: name its directory or its database",
    );
    expect(readdirSync(dirname(file))).toEqual([]);
  });
});

describe("a restore changes nothing", () => {
  test("where it cannot write the key that it is to write", async () => {
    const place = placeFile();
    const file = join(dirname(place.file), "secrets.key");
    expect((await failureOf(restore(place, backup, false, file))).message).toBe(
      `${backup} does not hold the key of its secrets: drop --with-key`,
    );
    const withKey = join(makeDirectory(), "with");
    await backUp(original, withKey, key);
    writeFileSync(file, OTHER_KEY);
    expect((await failureOf(restore(place, withKey, false, file))).message).toBe(
      `${file} is another secrets key: move it away, or name another place`,
    );
    expect(existsSync(place.file)).toBe(false);
    rmSync(file);
    await restore(place, withKey, false, file);
    expect(readFileSync(file)).toEqual(readFileSync(key));
    // It stays where it is there already.
    await restore(place, withKey, true, file);
    expect(readFileSync(file)).toEqual(readFileSync(key));
    // Refused for its data, a restore writes no key beside them either.
    rmSync(file);
    expect((await failureOf(restore(place, withKey, false, file))).message).toContain("has data");
    expect(existsSync(file)).toBe(false);
  });

  test("while another program reads the data that it is to replace", async () => {
    const place = placeFile();
    await restore(place);
    await readState(place);
    const reader = new Connection(place.file, { readonly: true, strict: true });
    reader.run("BEGIN");
    reader.query("SELECT * FROM accounts").all();
    const accounts = await readAll(place);
    const failure = await failureOf(restore(place, backup, true));
    expect(failure.message).toBe(
      `another process keeps ${place.file} locked: wait for it or end it`,
    );
    expect(existsSync(`${place.file}-wal`)).toBe(true);
    expect(await readAll(place)).toEqual(accounts);
    reader.close(true);
    await restore(place, backup, true);
    writeFileSync(place.file, "damaged beyond any repair".repeat(1_000));
    await restore(place, backup, true);
    expect(await readAll(place)).toEqual(content);
  });

  test("with a file that is cut or changed at any place", async () => {
    const bytes = readFileSync(backup);
    const directory = makeDirectory();
    for (let at = 1; at < 40; at++) {
      const middle = Math.floor((bytes.length * at) / 40);
      const flipped = Uint8Array.from(bytes);
      flipped[middle]! ^= 0x10;
      for (const [name, damaged] of [
        ["cut", bytes.subarray(0, middle)],
        ["flipped", flipped],
      ] as const) {
        const file = join(directory, `${name}-${at}`);
        writeFileSync(file, damaged);
        const place = placeFile();
        const failure = await failureOf(restore(place, file));
        expect(failure.name).toBe("BackupError");
        expect(existsSync(place.file)).toBe(false);
      }
    }
  });

  test("with bytes behind the end of a file, or a line without an end", async () => {
    const file = join(makeDirectory(), "longer");
    writeFileSync(file, Buffer.concat([readFileSync(backup), Buffer.from("xx")]));
    expect((await failureOf(restore(placeFile(), file))).message).toContain("is damaged");
    const frame = Bun.zstdCompressSync(Buffer.alloc(1_048_576, "x"));
    writeFileSync(file, Buffer.concat(Array.from({ length: 70 }, () => frame)));
    expect((await failureOf(restore(placeFile(), file))).message).toContain("is damaged");
  });

  test("with more heads of tables than any schema has", async () => {
    const file = join(makeDirectory(), "heads");
    const [header] = Bun.zstdDecompressSync(readFileSync(backup)).toString().split("\n");
    const heads = `${JSON.stringify({ table: "keys", columns: [] })}\n`.repeat(50_000);
    writeFileSync(file, Bun.zstdCompressSync(`${header}\n${heads}`));
    expect((await failureOf(restore(placeFile(), file))).message).toContain("is damaged");
  });

  test("after its signal, and leaves nothing beside it", async () => {
    const place = placeFile();
    await restore(place);
    const before = await readAll(place);
    const names = readdirSync(dirname(place.file));
    const interruption = new AbortController();
    let meanwhile: string[] = [];
    const onProgress = () => {
      meanwhile = readdirSync(dirname(place.file));
      interruption.abort(new Error("interrupted"));
    };
    const failure = await failureOf(
      restoreBackup({
        ...{ file: backup, place, placeName: "the target", replaces: true, clock, onProgress },
        ...{ ids: createSeededIds(7), signal: interruption.signal },
      }),
    );
    expect(failure.message).toBe("interrupted");
    expect(meanwhile.sort()).toEqual([...names, "wadi.db.restore"].sort());
    expect(readdirSync(dirname(place.file))).toEqual(names);
    expect(await readAll(place)).toEqual(before);
  });

  test("where another server has taken the lock meanwhile", async () => {
    const place = placeFile();
    await restore(place);
    const before = await readAll(place);
    const release = async () => {};
    const requireHeld = () => {
      throw new DatabaseInUse("the database");
    };
    using _ = spyOn(database, "lockPlace").mockImplementation(async () => ({
      ...{ requireHeld, release },
    }));
    await beginProcess(place);
    expect((await failureOf(restore(place, backup, true))).name).toBe("DatabaseInUse");
    expect(await listProcesses(place)).toHaveLength(1);
    expect(await readAll(place)).toEqual(before);
  });

  test("with a file that is no backup, or is not there", async () => {
    const file = join(makeDirectory(), "other");
    writeFileSync(file, "hello");
    const found = await failureOf(restore(placeFile(), file));
    expect(found.message).toBe(`${file} is no backup of Wadi, or it is damaged`);
    const missing = await failureOf(restore(placeFile(), `${file}-2`));
    expect(missing.message).toBe(`there is no file ${file}-2`);
    const directory = await failureOf(restore(placeFile(), dirname(file)));
    expect(directory.message).toBe(`${dirname(file)} cannot be read (EISDIR): it is a directory`);
  });

  test.each(["SQLite", "PostgreSQL"])("over data in %s, unless it is told to", async (engine) => {
    const place = engine === "SQLite" ? placeFile() : await makePostgres();
    await restore(place);
    const before = await readState(place);
    const failure = await failureOf(restore(place));
    expect(failure.message).toBe(
      "the target has data: restore over it with --yes, or name another",
    );
    expect(await readState(place)).toEqual(before);
    await restore(place, backup, true);
    expect(await readAll(place)).toEqual(content);
  });

  test.each(["SQLite", "PostgreSQL"])(
    "over data of a newer program in %s, also with --yes",
    async (engine) => {
      const place = engine === "SQLite" ? placeFile() : await makePostgres();
      await (await openTestDatabase(place)).close();
      expect((await failureOf(restore(place, backup, true))).name).toBe("NewerDatabase");
      expect((await failureOf(readState(place))).name).toBe("NewerDatabase");
    },
  );

  test("under a running server, also with --yes", async () => {
    const place = placeFile();
    await restore(place);
    const lock = await lockPlace(place);
    const script = `
      const { lockPlace } = await import(${JSON.stringify(
        join(import.meta.dir, "../../src/database/index.ts"),
      )});
      await lockPlace(${JSON.stringify(place)}).then(
        () => console.log("locked"), (failure) => console.log(failure.name));
      process.exit(0)`;
    const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    expect((await other.stdout.text()).trim()).toBe("DatabaseInUse");
    await lock.release();
  });
});

test("a place that has no data yet is locked until nothing of the lock is left", async () => {
  const { rmSync: remove } = files;
  const folder = join(makeDirectory(), "new");
  const lock = await lockPlace({ kind: "sqlite", file: join(folder, "wadi.db") });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const areLocked: boolean[] = [];
  // Another process would lock a file without a name.
  using _ = spyOn(files, "rmSync").mockImplementation((path, options) => {
    areLocked.push(locks.lockFile(String(path)) === null);
    remove(path, options);
  });
  await lock.release();
  expect([areLocked, existsSync(folder)]).toEqual([[true], false]);
});

test("a place of PostgreSQL tells that its lock was lost", async () => {
  let lose: (reason: Error) => void = () => {};
  using _ = spyOn(locks, "lockPostgres").mockImplementation(async (_, onLost) => {
    lose = onLost;
    return async () => {};
  });
  const url = "postgres://db.example/wadi";
  const lock = await lockPlace({ kind: "postgres", url, connectionsMax: 1 });
  lock.requireHeld();
  lose(new DatabaseInUse("the database"));
  expect(() => lock.requireHeld()).toThrow(DatabaseInUse);
});

test.skipIf(process.getuid?.() !== 0)(
  "files that root makes get the owner of the data",
  async () => {
    const ownerOf = (file: string) => {
      const { uid, gid } = statSync(file);
      return [uid, gid];
    };
    const place = placeFile();
    const directory = dirname(place.file);
    chownSync(directory, 4_321, 4_322);
    const withKey = join(makeDirectory(), "with");
    await backUp(original, withKey, key);
    await restore(place, withKey, false, join(directory, "secrets.key"));
    const names = ["wadi.db", "serve.lock", "secrets.key"];
    for (const name of names) expect(ownerOf(join(directory, name))).toEqual([4_321, 4_322]);
    chownSync(place.file, 4_323, 4_324);
    await restore(place, backup, true);
    expect(ownerOf(place.file)).toEqual([4_323, 4_324]);
  },
);

test("integers beyond 2^53 keep their last digit", () => {
  expect(parseRow('["a",9223372036854775807,1,null]')).toEqual([
    ...["a", 9223372036854775807n, 1, null],
  ]);
});
