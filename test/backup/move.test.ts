// Tests moves between engines: whole ones, interrupted ones, and a source that changes meanwhile.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { chownSync, copyFileSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { SQL } from "bun";
import { accountStore } from "../../src/access/store.ts";
import { type MoveResult, moveData } from "../../src/backup/index.ts";
import { processStore } from "../../src/cluster/index.ts";
import * as database from "../../src/database/index.ts";
import {
  DatabaseInUse,
  isSamePlace,
  openDatabase,
  openLoader,
  openSnapshot,
  type TransferPlace,
} from "../../src/database/index.ts";
import { installationStore } from "../../src/installation/index.ts";
import { stores } from "../../src/stores.ts";
import { failureOf, type Ground } from "../support/database.ts";
import { askInTransaction, openPostgres } from "../support/pglite.ts";
import { clock, fill, placeFile, readAll } from "./fixture.ts";

let ground: Ground;
let source: TransferPlace & { kind: "sqlite" };
/** Rows of a source as it is filled, which are the same in each test. */
let content: Record<string, string[]>;
const said: string[] = [];
const WAY_OUT =
  "if they are elsewhere, leave the new place out of the settings until the move is over, or " +
  "name other settings by --config";

beforeAll(async () => {
  ground = await openPostgres();
});
afterAll(() => ground.release());
beforeEach(async () => {
  said.length = 0;
  source = placeFile();
  await fill(source);
  content ??= await readAll(source);
}, 120_000);

const makePostgres = async () => (await ground.makePlace()) as TransferPlace;

interface Interruption {
  afterRows?: number;
  replaces?: boolean;
  targetName?: string;
  beforeEnd?(): void | Promise<void>;
  onProgress?(done: number): void;
  signal?: AbortSignal;
}

function move(
  from: TransferPlace,
  to: TransferPlace,
  { afterRows = Number.POSITIVE_INFINITY, ...others }: Interruption = {},
): Promise<MoveResult> {
  return moveData({
    ...{ source: from, sourceName: "the source", target: to, targetName: "the target" },
    ...{ replaces: false, clock, beforeEnd() {} },
    say: (line) => void said.push(line),
    onProgress(done) {
      if (done >= afterRows) throw new Error("killed");
    },
    ...others,
  });
}

/** Opens a place as a command does. */
const openAccounts = async (place: TransferPlace) => {
  const database = await openDatabase({ place, stores, clock, onFailure() {} });
  return { ...database.bind(accountStore), close: database.close };
};
const account = (name: string) => ({ id: name, name, created_at: 5, limits: null });

/** Creates a source with the same rows on each engine. */
async function makeSource(engine: string): Promise<TransferPlace> {
  if (engine === "SQLite") return source;
  const server = await makePostgres();
  await move(source, server);
  said.length = 0;
  return server;
}

const open = (place: TransferPlace) =>
  openDatabase({ place, stores, clock, onFailure() {} }).then(async (database) => {
    const state = await database.bind(installationStore).find();
    await database.close();
    return state;
  });

test("a move to PostgreSQL and on to a directory keeps identity and rows", async () => {
  const { id } = await open(source);
  const server = await makePostgres();
  const rows = Object.values(content).flat().length;
  const result = await move(source, server);
  expect(result).toMatchObject({ is_resumed: false });
  expect(result.rows).toBeGreaterThan(rows);
  expect(await readAll(server)).toEqual(content);
  const unpaused = { id, paused_at: null, moved_to: null };
  expect(await open(server)).toMatchObject(unpaused);
  const directory = placeFile();
  await move(server, directory);
  expect(await readAll(directory)).toEqual(content);
  expect(await open(directory)).toMatchObject(unpaused);
});

test("the source of a whole move does not open, and names the target", async () => {
  await move(source, placeFile());
  const at = new Date(clock.now()).toISOString();
  expect((await failureOf(open(source))).message).toBe(
    `the data of ${source.file} was moved to the target at ${at}: name that place in the ` +
      "settings; if it says that it is not whole, run the same `wadi move` again",
  );
  expect((await failureOf(move(source, placeFile()))).message).toBe(
    "the data of the source was moved to the target already",
  );
});

test("an interrupted move leaves a source that opens and a target that does not", async () => {
  for (const target of [placeFile(), await makePostgres()]) {
    expect((await failureOf(move(source, target, { afterRows: 50 }))).message).toBe("killed");
    expect((await open(source)).moved_to).toBeNull();
    const name = target.kind === "sqlite" ? target.file : "the database at ";
    const { message } = await failureOf(open(target));
    expect(message).toStartWith(name);
    expect(message).toContain(" is not whole: a move to it was interrupted");
  }
});

test("an interrupted move continues where it was, also in the middle of a table", async () => {
  const target = placeFile();
  const loader = openLoader(source, { now: 1 });
  // More than two batches.
  await loader.transact(({ run }) =>
    run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
       INSERT INTO accounts (id, name, created_at) SELECT 'n' || i, 'n' || i, 1 FROM n`,
    ),
  );
  await loader.close();
  const grown = await readAll(source);
  const counts: number[] = [];
  const onProgress = (done: number) => {
    counts.push(done);
    if (done > 1_000) throw new Error("killed");
  };
  await failureOf(move(source, target, { onProgress }));
  const onward = (done: number) => void counts.push(done);
  const result = await move(source, target, { onProgress: onward });
  expect(result).toMatchObject({ rows: counts.at(-1), is_resumed: true });
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(said).toEqual(["the interrupted move continues"]);
  expect(await readAll(target)).toEqual(grown);
});

test("a move ends at its signal, while it copies or compares, and continues", async () => {
  const target = placeFile();
  const abort = async (afterRows: number) => {
    const interruption = new AbortController();
    const onProgress = (done: number) => {
      if (done >= afterRows) interruption.abort(new Error("interrupted"));
    };
    const ended = move(source, target, { onProgress, signal: interruption.signal });
    expect((await failureOf(ended)).message).toBe("interrupted");
    expect((await open(source)).moved_to).toBeNull();
  };
  await abort(50);
  await abort(Object.values(content).flat().length);
  expect(await move(source, target)).toMatchObject({ is_resumed: true });
  expect(await readAll(target)).toEqual(content);
});

test("a move cut off between its last steps leaves no place that opens, and the same command ends it", async () => {
  const target = placeFile();
  const change = (statement: string) => {
    using connection = new Connection(target.file);
    connection.run(statement);
  };
  const beforeEnd = () =>
    change(
      "CREATE TRIGGER cut BEFORE UPDATE ON wadi_installation BEGIN SELECT RAISE(ABORT, 'cut'); END",
    );
  await failureOf(move(source, target, { beforeEnd }));
  const moved = `the data of ${source.file} was moved to the target`;
  expect((await failureOf(open(source))).message).toStartWith(moved);
  expect((await failureOf(open(target))).message).toStartWith(`${target.file} is not whole: `);
  change("DROP TRIGGER cut");
  expect(await move(source, target)).toMatchObject({ is_resumed: true });
  expect(await readAll(target)).toEqual(content);
  expect((await open(target)).moved_to).toBeNull();
});

test("a move starts over where the source has changed since its interruption", async () => {
  const target = placeFile();
  await failureOf(move(source, target, { afterRows: 50 }));
  const database = await openDatabase({ place: source, stores, clock, onFailure() {} });
  await database.bind(installationStore).adopt((await open(source)).id, null, 5);
  await database.close();
  expect(await move(source, target)).toMatchObject({ is_resumed: false });
  expect(said).toEqual(["the source has changed since, so the move starts over"]);
  expect(await readAll(target)).toEqual(content);
});

test("a move refuses data at its target, unless it is told to replace them", async () => {
  const target = placeFile();
  await fill(target);
  expect((await failureOf(move(source, target))).message).toBe(
    "the target has data: move over it with --yes, or name another",
  );
  await move(source, target, { replaces: true });
  expect(await readAll(target)).toEqual(content);
});

test("data move back to the place that they have left", async () => {
  const server = await makePostgres();
  await move(source, server);
  await move(server, source, { replaces: true });
  expect(await readAll(source)).toEqual(content);
  expect((await open(source)).moved_to).toBeNull();
});

// Two transactions at once need a server; PGlite has one connection.
const CONCURRENT = ["SQLite", ...(process.env.WADI_TEST_POSTGRES ? ["PostgreSQL"] : [])];
test.each(CONCURRENT)(
  "a snapshot of %s shows one moment, whatever is written meanwhile",
  async (engine) => {
    const from = await makeSource(engine);
    const snapshot = await openSnapshot(from);
    const rows = await snapshot.countAll();
    const accounts = await openAccounts(from);
    await accounts.create(account("late"));
    expect(await snapshot.countAll()).toBe(rows);
    await accounts.close();
    await snapshot.close();
  },
);

test.skipIf(process.env.WADI_TEST_POSTGRES !== undefined)(
  "all statements of a snapshot of PostgreSQL see one state, and none writes",
  async () => {
    const snapshot = await openSnapshot(await makeSource("PostgreSQL"));
    const [mode] = await askInTransaction(
      `SELECT current_setting('transaction_isolation') AS isolation,
        current_setting('transaction_read_only') AS read_only`,
    );
    await snapshot.close();
    expect(mode).toEqual({ isolation: "repeatable read", read_only: "on" });
  },
);

test.skipIf(process.env.WADI_TEST_POSTGRES !== undefined)(
  "the end of a source in PostgreSQL keeps other writers out",
  async () => {
    const from = await makeSource("PostgreSQL");
    const snapshot = await openSnapshot(from);
    const stamp = await snapshot.readStamp();
    await snapshot.close();
    const loader = openLoader(from, { now: 1 });
    const modes = await loader.transact(async (load) => {
      expect(await load.lockUnchanged("another")).toBe(false);
      expect(await load.lockUnchanged(stamp)).toBe(true);
      return askInTransaction(
        `SELECT mode FROM pg_locks WHERE relation IN ('accounts'::regclass, 'runs'::regclass)
           AND mode <> 'AccessShareLock'`,
      );
    });
    await loader.close();
    expect(modes).toEqual(Array(2).fill({ mode: "ShareRowExclusiveLock" }));
  },
);

describe.each(["SQLite", "PostgreSQL"])("a source in %s", (engine) => {
  test("that a command changes at the very end is copied again", async () => {
    const from = await makeSource(engine);
    const target = placeFile();
    let times = 0;
    const beforeEnd = async () => {
      if (++times > 1) return;
      const accounts = await openAccounts(from);
      await accounts.create(account("late"));
      await accounts.close();
    };
    await move(from, target, { beforeEnd });
    expect(said).toEqual(["the source has changed since, so the move starts over"]);
    const accounts = await openAccounts(target);
    expect(await accounts.find("late")).toMatchObject({ id: "late" });
    await accounts.close();
  });

  test("that a kill ended before its target is ended by the same move", async () => {
    const from = await makeSource(engine);
    const target = placeFile();
    const beforeEnd = async () => {
      throw new Error("killed");
    };
    await failureOf(move(from, target, { beforeEnd }));
    const loader = openLoader(from, { now: 1 });
    await loader.transact(async (load) => {
      await installationStore.writes.noteMove(load.tx, "the target", 1);
      await load.refuseWrites();
    });
    await loader.close();
    const other = await failureOf(move(from, placeFile(), { targetName: "another" }));
    expect(other.message).toBe("the data of the source was moved to the target already");
    expect(await move(from, target)).toMatchObject({ is_resumed: true });
    expect(await readAll(target)).toEqual(content);
  });
});

const REFUSED = /^the data of .* were moved while this ran: name their new place in the settings$/;

test("a source in SQLite refuses the writes of a command that opened it before", async () => {
  const accounts = await openAccounts(source);
  await move(source, placeFile());
  expect((await failureOf(accounts.create(account("lost")))).message).toMatch(REFUSED);
  expect(await accounts.find("lost")).toBeUndefined();
  await accounts.close();
});

test("a source in PostgreSQL refuses every later write", async () => {
  const from = await makeSource("PostgreSQL");
  await move(from, placeFile());
  const loader = openLoader(from, { now: 1 });
  const write = loader.transact(({ tx }) => accountStore.writes.create(tx, account("lost")));
  expect((await failureOf(write)).message).toMatch(REFUSED);
  for (const text of ["UPDATE accounts SET created_at = 1", "DELETE FROM sweeps"]) {
    const change = loader.transact(({ run }) => run(text));
    expect((await failureOf(change)).message).toMatch(REFUSED);
  }
  await loader.close();
});

test("tables of other programs in the same PostgreSQL may change during a move", async () => {
  const from = await makeSource("PostgreSQL");
  if (from.kind !== "postgres") throw new Error("it is no PostgreSQL");
  const { url } = from;
  const beforeEnd = async () => {
    const pool = new SQL({ url, max: 1 });
    await pool.unsafe("CREATE TABLE others AS SELECT 1 AS number");
    await pool.close();
  };
  await move(from, placeFile(), { beforeEnd });
  expect(said).toEqual([]);
});

test("an interrupted move does not continue when the data were moved elsewhere", async () => {
  const first = placeFile();
  await failureOf(move(source, first, { afterRows: 50 }));
  await move(source, placeFile(), { targetName: "another" });
  expect((await failureOf(move(source, first))).message).toBe(
    "the data of the source was moved to another already",
  );
});

test("a move ends the processes of its source, which have stopped", async () => {
  const before = await openDatabase({ place: source, stores, clock, onFailure() {} });
  await before.bind(processStore).register(clock.now());
  await before.close();
  const target = placeFile();
  // A database that was there before has left its counter, which is ahead.
  copyFileSync(`${source.file}-commits`, `${target.file}-commits`);
  await move(source, target);
  const after = await openDatabase({ place: target, stores, clock, onFailure() {} });
  expect(await after.bind(processStore).list()).toEqual([]);
  await after.close();
});

test("a move whose lock another server has taken leaves a source that opens", async () => {
  const release = async () => {};
  const requireHeld = () => {
    throw new DatabaseInUse("the database");
  };
  const locks = spyOn(database, "lockPlace").mockImplementation(async () => ({
    ...{ requireHeld, release },
  }));
  const failure = await failureOf(move(source, placeFile()));
  locks.mockRestore();
  expect(failure.name).toBe("DatabaseInUse");
  expect((await open(source)).moved_to).toBeNull();
});

test("a move does not continue that of another installation", async () => {
  const other = placeFile();
  expect((await open(other)).id).not.toBe((await open(source)).id);
  const target = placeFile();
  const beforeEnd = () => {
    throw new Error("killed");
  };
  await failureOf(move(other, target, { beforeEnd }));
  expect((await failureOf(move(source, target))).message).toBe(
    "the target has data: move over it with --yes, or name another",
  );
  expect(await move(other, target)).toMatchObject({ is_resumed: true });
});

test("a target whose rows are not those of the source is filled again", async () => {
  const target = placeFile();
  let isChanged = false;
  const onProgress = (done: number) => {
    if (isChanged || done < 100) return;
    isChanged = true;
    using connection = new Connection(target.file, { strict: true });
    connection.run("UPDATE accounts SET created_at = created_at + 1");
  };
  await move(source, target, { onProgress });
  expect(isChanged).toBe(true);
  expect(await readAll(target)).toEqual(content);
});

test("a move gives up where its source changes each time", async () => {
  let times = 0;
  const beforeEnd = async () => {
    const accounts = await openAccounts(source);
    await accounts.create(account(`late ${++times}`));
    await accounts.close();
  };
  const failure = await failureOf(move(source, placeFile(), { beforeEnd }));
  expect(failure.message).toStartWith("the source changes again and again: ");
  expect(times).toBe(3);
  expect((await open(source)).moved_to).toBeNull();
});

test("a move to its own source is refused as such", async () => {
  const same = `${dirname(source.file)}/../${basename(dirname(source.file))}/wadi.db`;
  const failure = await failureOf(move(source, { kind: "sqlite", file: same }));
  expect(failure.message).toBe(`the data are in the source already, say the settings; ${WAY_OUT}`);
});

test("a database of a server is the same one under any user and spelling of its port", () => {
  const isSame = (url: string, other: string) =>
    isSamePlace(
      { kind: "postgres", url, connectionsMax: 1 },
      { kind: "postgres", url: other, connectionsMax: 1 },
    );
  const url = "postgres://wadi@db.example/wadi";
  expect(isSame(url, "postgres://other:secret@db.example:5432/wadi")).toBe(true);
  for (const other of ["db.example:5433/wadi", "db2.example/wadi", "db.example/other"]) {
    expect(isSame(url, `postgres://wadi@${other}`), other).toBe(false);
  }
});

test.skipIf(process.getuid?.() !== 0)(
  "a directory's owner gets what root moves to it",
  async () => {
    const target = placeFile();
    chownSync(dirname(target.file), 4_321, 4_322);
    await move(source, target);
    expect(statSync(target.file)).toMatchObject({ uid: 4_321, gid: 4_322 });
  },
);

test("a place without data cannot be moved", async () => {
  const failure = await failureOf(move(placeFile(), placeFile()));
  expect(failure.message).toBe(`the source has no data to move; ${WAY_OUT}`);
});

test.skipIf(process.env.WADI_TEST_POSTGRES === undefined)(
  "a write that ends while the source is locked is seen, and the source is not ended",
  async () => {
    const from = await makeSource("PostgreSQL");
    if (from.kind !== "postgres") throw new Error("not PostgreSQL");
    const snapshot = await openSnapshot(from);
    const stamp = await snapshot.readStamp();
    await snapshot.close();
    const [writer, looker] = [
      new SQL({ url: from.url, max: 1 }),
      new SQL({ url: from.url, max: 1 }),
    ];
    const writing = await writer.reserve();
    await writing.unsafe("BEGIN; UPDATE accounts SET name = name");
    const loader = openLoader(from, { now: 1 });
    const isLocked = loader.transact((load) => load.lockUnchanged(stamp));
    const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND database =
      (SELECT oid FROM pg_database WHERE datname = current_database())`;
    while ((await looker.unsafe(waiting)).length === 0);
    await writing.unsafe("COMMIT");
    expect(await isLocked).toBe(false);
    await loader.close();
    await Promise.all([writer, looker].map((sql) => sql.close({ timeout: 0 })));
  },
);
