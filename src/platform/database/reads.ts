// Reads beside a writer: those of one turn share one look at what was committed.
import type { Database as Connection } from "bun:sqlite";
import { createExecutor } from "./sqlite.ts";
import type { Db } from "./store.ts";

/** Beyond it everything is forgotten: it is cheaper to read again than to choose. */
const KEPT_MAX = 10_000;

/**
 * Reads of one turn of the event loop see one state of the database, at the price of one look for
 * what was written; while nothing was, by this process or another, kept reads are answered from
 * memory. Who knows of a write sees it: our own are told after the turn's state was given up, and
 * what another process knows of comes in by a socket, in a later turn (save a request that was sent
 * behind another before that one's reply, and was read together with it).
 */
export function joinReads(connection: Connection) {
  const reader = createExecutor(connection);
  const begin = connection.prepare("BEGIN");
  const commit = connection.prepare("COMMIT");
  // It changes with every commit of another connection; this one commits nothing.
  const version = connection.prepare("PRAGMA data_version");
  const kept = new Map<string, unknown>();
  let seen: unknown;
  let isOpen = false;
  let isOver = false;

  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    // A read that failed badly has ended it already.
    if (connection.inTransaction) commit.run();
  };
  const look = () => {
    if (isOpen || isOver) return;
    let now: unknown;
    try {
      begin.run();
      now = version.values()[0]?.[0];
    } catch (failure) {
      // What cannot be looked at cannot be vouched for.
      kept.clear();
      if (connection.inTransaction) connection.run("ROLLBACK");
      throw failure;
    }
    isOpen = true;
    setImmediate(end);
    if (now === seen && kept.size < KEPT_MAX) return;
    kept.clear();
    seen = now;
  };
  const readKept = async <T>(work: (db: Db) => Promise<T>, name: string): Promise<T> => {
    const known = kept.get(name);
    if (known !== undefined) return known as T;
    const version_then = seen;
    const found = await work(reader);
    // Only what is there: names of nothing could be made up without end.
    if (found !== undefined && seen === version_then) kept.set(name, Object.freeze(found));
    return found;
  };
  return {
    async read<T>(work: (db: Db) => Promise<T>, kept_as?: string): Promise<T> {
      look();
      return kept_as === undefined ? work(reader) : readKept(work, kept_as);
    },
    end,
    /** The connection is about to be closed: nothing may be left to do on it. */
    stop() {
      isOver = true;
      end();
    },
  };
}
