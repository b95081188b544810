// Locks the place of a transfer against servers, without creating a database there.
import { existsSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseInUse, explainPostgres, explainSqlite } from "../errors.ts";
import {
  countServers,
  isDatabaseLocked,
  LOCK_FILE,
  lockDatabase,
  lockFile,
  lockPostgres,
} from "../lock.ts";
import { openPool } from "../postgres-connections.ts";
import type { TransferPlace } from "./state.ts";

export interface PlaceLock {
  /** Throws where the lock was lost and another server has taken it. */
  requireHeld(): void;
  release(): Promise<void>;
}

/** Throws DatabaseInUse where a server runs. */
export async function lockPlace(place: TransferPlace): Promise<PlaceLock> {
  if (place.kind === "sqlite") {
    const release = lockSqlite(place.file);
    return { requireHeld() {}, release: async () => release() };
  }
  let lost: Error | undefined;
  const onLost = (reason: Error) => {
    lost = reason;
  };
  const release = await lockPostgres(place.url, onLost).catch((failure) => {
    throw explainPostgres(place.url, failure);
  });
  const requireHeld = () => {
    if (lost) throw lost;
  };
  return { requireHeld, release };
}

/** Tests if a server, a move or a restore has the lock of a place; it makes no database there. */
export async function isLocked(place: TransferPlace): Promise<boolean> {
  if (place.kind === "sqlite") {
    try {
      return existsSync(place.file) && isDatabaseLocked(place.file);
    } catch (failure) {
      throw explainSqlite(place.file, failure);
    }
  }
  const pool = openPool(place.url, 1);
  try {
    return (await countServers(pool)) > 0;
  } catch (failure) {
    throw explainPostgres(place.url, failure);
  } finally {
    await pool.close();
  }
}

function lockSqlite(file: string): () => void {
  const directory = dirname(file);
  const lock = join(directory, LOCK_FILE);
  const made: MadeFiles = {};
  try {
    made.directory = mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (existsSync(file)) return lockDatabase(file);
    if (!existsSync(lock)) made.lock = lock;
    const release = lockFile(lock);
    if (release === null) throw new DatabaseInUse(directory);
    return () => {
      // Removed before the release: another process must not lock a file without a name.
      if (!existsSync(file)) removeMade(directory, made);
      release();
    };
  } catch (failure) {
    if (!(failure instanceof DatabaseInUse)) removeMade(directory, made);
    throw explainSqlite(file, failure);
  }
}

interface MadeFiles {
  /** Outermost directory that was made; undefined where all were there. */
  directory?: string | undefined;
  lock?: string;
}

/** Removes what a lock has made for a database that was not made then. */
function removeMade(directory: string, made: MadeFiles): void {
  try {
    if (made.lock !== undefined) rmSync(made.lock, { force: true });
    if (made.directory === undefined) return;
    const outermost = resolve(made.directory);
    // Only empty directories can be removed so.
    for (let one = resolve(directory); one.startsWith(outermost); one = dirname(one))
      rmdirSync(one);
  } catch {
    // Another program has put something there, or needs it.
  }
}
