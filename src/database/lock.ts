// Keeps a second server off the same data; whoever dies lets go, however it dies.
import { Database as Connection } from "bun:sqlite";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { DatabaseInUse } from "./errors.ts";
import { lockInKernel } from "./kernel-lock.ts";
import { CONNECT_TIMEOUT_S } from "./postgres.ts";
import { isBusy } from "./sqlite.ts";

/** Any number that no other program uses on the same server. */
const POSTGRES_LOCK = 7_241_987;
const RECLAIM_EVERY_MS = 1_000;
/** A server needs a while to notice that the session of a connection that was cut is dead. */
const RECLAIM_TRIES_MAX = 60;

/**
 * Takes the database `file` until the returned function is called, or the process ends. The command
 * line opens it beside that. Throws DatabaseInUse when another server holds it.
 */
export function lockDatabase(file: string): () => void {
  const directory = dirname(file);
  // Everywhere, and the only one where the kernel has no better: it falls with its file.
  const release = lockFile(join(directory, "serve.lock"));
  if (release === null) throw new DatabaseInUse(directory);
  const releaseKernel = lockInKernel(file);
  if (releaseKernel === null) {
    release();
    throw new DatabaseInUse(directory);
  }
  return () => {
    releaseKernel();
    release();
  };
}

/**
 * Takes a file that is there for nothing else until the returned function is called, or the process
 * ends: the kernel frees the lock of a file. null: another holds it.
 */
export function lockFile(file: string): (() => void) | null {
  const connection = new Connection(file, { create: true, strict: true });
  try {
    // Nothing is ever written to this file, so it needs no journal beside it.
    connection.run("PRAGMA journal_mode = MEMORY");
    connection.run("BEGIN EXCLUSIVE");
  } catch (failure) {
    connection.close(true);
    if (isBusy(failure)) return null;
    throw failure;
  }
  return () => connection.close(true);
}

/**
 * The same for a database of PostgreSQL, through a session of its own. A session that was cut is
 * taken up again; `onLost` is told when another server has come in between.
 */
export async function lockPostgres(
  url: string,
  onLost: (why: Error) => void,
): Promise<() => Promise<void>> {
  let isHeld = false;
  const session: SQL = new SQL({
    url,
    max: 1,
    connectionTimeout: CONNECT_TIMEOUT_S,
    onclose: () => {
      if (isHeld) void reclaim();
      isHeld = false;
    },
  });
  const take = async () => {
    const rows = await session.unsafe(`SELECT pg_try_advisory_lock(${POSTGRES_LOCK}) AS taken`);
    isHeld = rows[0].taken;
    return isHeld;
  };
  const inUse = new DatabaseInUse(`the database of ${URL.parse(url)?.host}`);
  let isReleased = false;
  async function reclaim() {
    for (let refused = 0; refused < RECLAIM_TRIES_MAX; ) {
      await Bun.sleep(RECLAIM_EVERY_MS);
      if (isReleased) return;
      // A server that does not answer takes no other in either.
      const isTaken = await take().catch(() => undefined);
      if (isTaken) return;
      if (isTaken === false) refused++;
    }
    onLost(inUse);
  }
  const release = async () => {
    isReleased = true;
    const wasHeld = isHeld;
    isHeld = false;
    // Said aloud, since the server notices only a while later that a session is gone.
    if (wasHeld) await session.unsafe("SELECT pg_advisory_unlock_all()").catch(() => undefined);
    await session.close();
  };
  try {
    if (await take()) return release;
  } catch (failure) {
    await release();
    throw failure;
  }
  await release();
  throw inUse;
}
