// Locks that keep a second server off the same data; the death of a process releases them.
import { Database as Connection } from "bun:sqlite";
import { constants, openSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SQL } from "bun";
import { giveToOwnerOf } from "../platform/file-owner.ts";
import { openLibc } from "../platform/libc.ts";
import { DatabaseInUse } from "./errors.ts";
import { CONNECT_TIMEOUT_S, SESSION } from "./postgres-connections.ts";
import { ServerReadOnly } from "./postgres-failures.ts";
import { isBusy } from "./sqlite.ts";

const F_OFD_GETLK = 36;
const F_OFD_SETLK = 37;
const F_WRLCK = 1;
const F_UNLCK = 2;
/** Offset of the locked byte, far behind those that SQLite locks at 2^30. */
const LOCK_OFFSET = 2n ** 62n;
/** Size of `struct flock` on 64-bit Linux: type, whence, start, length, process. */
const FLOCK_BYTES = 32;

/** The lock of this file works on every system, but is lost when the file is deleted. */
export const LOCK_FILE = "serve.lock";

const POSTGRES_LOCK = 7_241_987;
/** Keepalives of the lock's session: the server ends it 15 seconds after a machine is lost. */
const KEEPALIVES = Object.entries({ idle: 5, interval: 5, count: 2 })
  .map(([name, value]) => `, set_config('tcp_keepalives_${name}', '${value}', false)`)
  .join("");
const RECLAIM_EVERY_MS = 1_000;
/** Maximum tries: a server needs a while to notice that a cut session is dead. */
const RECLAIM_TRIES_MAX = 60;

/**
 * Locks the database `file` against other servers until the returned function is called; command
 * lines open it all the same. Throws DatabaseInUse.
 */
export function lockDatabase(file: string): () => void {
  return prepareLock(file)();
}

/** Prepares that lock before SQLite opens the file; the returned function takes it. */
export function prepareLock(file: string): () => () => void {
  const directory = dirname(file);
  const lockKernel = prepareKernelLock(file);
  return () => {
    const release = lockFile(join(directory, LOCK_FILE));
    if (release === null) throw new DatabaseInUse(directory);
    const releaseKernel = lockKernel();
    if (releaseKernel === null) {
      release();
      throw new DatabaseInUse(directory);
    }
    return () => {
      releaseKernel();
      release();
    };
  };
}

/** Locks a file that serves no other purpose; null where another process holds it. */
export function lockFile(file: string): (() => void) | null {
  const connection = new Connection(file, { create: true, strict: true });
  try {
    // The file is never written to, so it needs no journal beside it.
    connection.run("PRAGMA journal_mode = MEMORY");
    connection.run("BEGIN EXCLUSIVE");
    giveToOwnerOf(dirname(file), file);
  } catch (failure) {
    connection.close(true);
    if (isBusy(failure)) return null;
    throw failure;
  }
  return () => connection.close(true);
}

/**
 * Tests if another process holds the lock of a database file. On systems with locks of the kernel
 * nothing is locked for it, which could keep a server from starting.
 */
export function isDatabaseLocked(file: string): boolean {
  const found = openKernelLock(file)?.(F_OFD_GETLK, F_WRLCK);
  if (found?.isDone) return found.type !== F_UNLCK;
  const release = lockFile(join(dirname(file), LOCK_FILE));
  release?.();
  return release === null;
}

/**
 * Prepares a lock of `file` itself by an open file description. The returned function takes it, or
 * returns null where another process holds it. Systems without such locks take nothing.
 */
function prepareKernelLock(file: string): () => (() => void) | null {
  const call = openKernelLock(file);
  if (!call) return () => () => {};
  return () => {
    if (call(F_OFD_SETLK, F_WRLCK).isDone) return () => void call(F_OFD_SETLK, F_UNLCK);
    // A file system without such locks refuses both calls.
    const found = call(F_OFD_GETLK, F_WRLCK);
    return found.isDone && found.type !== F_UNLCK ? null : () => {};
  };
}

/**
 * Opens `file` for calls on its lock; null where the system has no such locks.
 *
 * The descriptor is never closed: closing any descriptor of a file drops all POSIX locks of the
 * process on it, SQLite's among them. Call it before SQLite opens the file.
 */
function openKernelLock(file: string) {
  const libc = openLibc({ fcntl: { args: ["i32", "i32", "ptr"], returns: "i32" } });
  if (!libc) return null;
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  return (command: number, type: number) => {
    const lock = writeFlock(type);
    const isDone = libc.fcntl(descriptor, command, lock) === 0;
    return { isDone, type: lock.readInt16LE(0) };
  };
}

function writeFlock(type: number): Buffer {
  const lock = Buffer.alloc(FLOCK_BYTES);
  lock.writeInt16LE(type, 0);
  lock.writeBigInt64LE(LOCK_OFFSET, 8);
  lock.writeBigInt64LE(1n, 16);
  return lock;
}

/**
 * Locks a PostgreSQL database through a session of its own; throws DatabaseInUse. A cut session is
 * opened again; `onLost` is called when another server came in between. Servers with `isShared`
 * hold the lock together, and keep off all others.
 */
export async function lockPostgres(
  url: string,
  onLost: (reason: Error) => void,
  isShared = false,
): Promise<() => Promise<void>> {
  const lock = new PostgresLock(url, onLost, isShared);
  try {
    if (await lock.take()) return () => lock.release();
    throw await lock.explain();
  } catch (failure) {
    await lock.release();
    throw failure;
  }
}

/** Counts the servers that hold the lock of the database, which a start waits for no longer. */
export async function countServers(pool: Pick<SQL, "unsafe">): Promise<number> {
  const rows = await pool.unsafe(`SELECT count(*)::int AS servers FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 0 AND objid = ${POSTGRES_LOCK} AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
  return rows[0].servers;
}

class PostgresLock {
  readonly #place: string;
  readonly #onLost: (reason: Error) => void;
  readonly #session: SQL;
  readonly #suffix: "_shared" | "";
  #isHeld = false;
  #isReleased = false;

  constructor(url: string, onLost: (reason: Error) => void, isShared: boolean) {
    this.#place = `the database of ${URL.parse(url)?.host}`;
    this.#onLost = onLost;
    this.#suffix = isShared ? "_shared" : "";
    this.#session = new Bun.SQL({
      url,
      max: 1,
      connection: SESSION,
      connectionTimeout: CONNECT_TIMEOUT_S,
      onclose: () => {
        if (this.#isHeld) void this.#reclaim();
        this.#isHeld = false;
      },
    });
  }

  async take(): Promise<boolean> {
    this.#isHeld = await this.#try(this.#suffix);
    return this.#isHeld;
  }

  /** Says why the lock is not to be had: servers of the other kind hold it, or one alone. */
  async explain(): Promise<DatabaseInUse> {
    if (this.#suffix !== "") return new DatabaseInUse(this.#place, "alone");
    // A lone server keeps off the shared lock, too.
    const isShared = await this.#try("_shared");
    return new DatabaseInUse(this.#place, isShared ? "shared" : undefined);
  }

  async #try(suffix: string): Promise<boolean> {
    // A standby has locks of its own: the session is ended, and the next one may meet the leader.
    const statement = `SELECT CASE WHEN pg_is_in_recovery()
      THEN pg_terminate_backend(pg_backend_pid()) AND NULL
      ELSE pg_try_advisory_lock${suffix}(${POSTGRES_LOCK}) END AS taken${KEEPALIVES}`;
    const [{ taken }] = await this.#session.unsafe(statement);
    if (taken === null) throw new ServerReadOnly();
    return taken;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    // The server notices the end of a session late, so the lock is released first.
    const unlock = "SELECT pg_advisory_unlock_all()";
    if (wasHeld) await this.#session.unsafe(unlock).catch(() => undefined);
    await this.#session.close();
  }

  async #reclaim(): Promise<void> {
    for (let refused = 0; refused < RECLAIM_TRIES_MAX; ) {
      await Bun.sleep(RECLAIM_EVERY_MS);
      if (this.#isReleased) return;
      // While PostgreSQL does not answer, no other server can take the lock either.
      const isTaken = await this.take().catch(() => undefined);
      if (isTaken) return;
      if (isTaken === false) refused++;
    }
    this.#onLost(new DatabaseInUse(this.#place));
  }
}
