// Locks the place of a transfer against servers, without creating a database there.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseInUse, explainPostgres, explainSqlite } from "../errors.ts";
import { lockDatabase, lockFile, lockPostgres } from "../lock.ts";
import type { TransferPlace } from "./state.ts";

/** Resolves with what releases the lock; throws DatabaseInUse where a server runs. */
export async function lockPlace(place: TransferPlace): Promise<() => Promise<void>> {
  if (place.kind === "postgres") {
    // A lost lock is noticed by the server that takes it.
    const release = await lockPostgres(place.url, () => {}).catch((failure) => {
      throw explainPostgres(place.url, failure);
    });
    return release;
  }
  const directory = dirname(place.file);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (existsSync(place.file)) {
      const release = lockDatabase(place.file);
      return async () => release();
    }
    const release = lockFile(join(directory, "serve.lock"));
    if (release === null) throw new DatabaseInUse(directory);
    return async () => release();
  } catch (failure) {
    throw explainSqlite(place.file, failure);
  }
}
