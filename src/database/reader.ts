// Reads beside a writer: rows of every request are kept for as long as nobody has committed.
import type { Database as Connection } from "bun:sqlite";
import { createExecutor } from "./sqlite.ts";
import type { Db } from "./store.ts";

/** Beyond it everything is forgotten: it is cheaper to read again than to choose. */
const KEPT_MAX = 10_000;

/**
 * Reads of a connection that writes nothing. A kept read looks each time whether anybody has
 * committed, this process or another, and is answered from memory only where nobody has. The look
 * is never shared: whoever knows of a write must see it, however the event loop cuts its turns.
 */
export function createReads(connection: Connection) {
  const reader = createExecutor(connection);
  // It changes with every commit of another connection; this one commits nothing.
  const version = connection.prepare("PRAGMA data_version");
  const kept = new Map<string, unknown>();
  let seen: unknown;

  const look = () => {
    try {
      const now = version.values()[0]?.[0];
      if (now !== seen || kept.size >= KEPT_MAX) kept.clear();
      seen = now;
    } catch (failure) {
      // What cannot be looked at cannot be vouched for.
      kept.clear();
      throw failure;
    }
  };
  return async <T>(work: (db: Db) => Promise<T>, keptAs?: string): Promise<T> => {
    if (keptAs === undefined) return work(reader);
    look();
    const known = kept.get(keptAs);
    if (known !== undefined) return known as T;
    const versionThen = seen;
    const found = await work(reader);
    // Only what is there: names of nothing could be made up without end.
    if (found !== undefined && seen === versionThen) kept.set(keptAs, Object.freeze(found));
    return found;
  };
}
