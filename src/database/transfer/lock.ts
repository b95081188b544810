// Locks the place of a transfer against servers, without creating a database there.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseInUse, explainPostgres, explainSqlite } from "../errors.ts";
import { lockDatabase, lockFile, lockPostgres } from "../lock.ts";
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

function lockSqlite(file: string): () => void {
  const directory = dirname(file);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (existsSync(file)) return lockDatabase(file);
    const release = lockFile(join(directory, "serve.lock"));
    if (release === null) throw new DatabaseInUse(directory);
    return release;
  } catch (failure) {
    throw explainSqlite(file, failure);
  }
}
