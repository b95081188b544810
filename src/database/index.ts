// The cellar's only door: opens a database, and has the words in which stores are written.
import type { Clock } from "../platform/clock.ts";
import { createBus } from "./bus.ts";
import { type DatabaseLocation, openEngine } from "./engine.ts";
import { guardEngine } from "./health.ts";
import { migrations } from "./migrations/index.ts";
import type { Migration } from "./migrations/migration.ts";
import type { Database, DatabaseEngine, Store } from "./store.ts";
import { createRegistry } from "./transaction.ts";

export { countRows, requireCapacity } from "./count.ts";
export type { DatabaseLocation } from "./engine.ts";
export {
  DatabaseInUse,
  DatabaseUnavailable,
  DatabaseUnusable,
  NewerDatabase,
} from "./errors.ts";
export { FullTextIndex, type FullTextRow } from "./full-text-index.ts";
export { omitUnavailable } from "./health.ts";
export { type Inspection, inspectDatabase } from "./inspection.ts";
export { findDamage } from "./integrity.ts";
export { lockFile } from "./lock.ts";
export { findPageEnd } from "./page-bounds.ts";
export { createPageChecks } from "./page-checks.ts";
export { retryUnavailable } from "./retry.ts";
export {
  cleanText,
  createInsertion,
  into,
  none,
  type Sql,
  type SqlValue,
  splitRows,
  sql,
} from "./sql.ts";
export { type Bound, type Database, type Db, type Store, store, type Tx } from "./store.ts";
export { createRegistry, listWrites } from "./transaction.ts";
export { readSqliteVersion } from "./version.ts";
export { serveWrites } from "./writer.ts";

export interface OpenOptions {
  place: DatabaseLocation;
  stores: readonly Store[];
  clock: Clock;
  /** True for a server: no other may be on the same data, while the command line comes and goes. */
  exclusive?: boolean;
  /**
   * Told what a SQLite database lacks of what was committed, before the opening goes on; left out:
   * it is refused.
   */
  acceptLoss?(what: string): void;
  /** The schema, oldest first; left out: this program's. */
  migrations?: readonly Migration[];
  /**
   * Told of what nobody else can be told of: a listener's bug, the writer's death, a lost lock; and
   * once a second of a DatabaseUnavailable, for as long as reads or writes fail.
   */
  onFailure(failure: unknown, isFatal: boolean): void;
  /** Told when writes are kept again after such a failure. */
  onRecovery?(): void;
}

/** Opens a database and brings its schema forward; throws a DatabaseUnusable. */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const { place, stores, clock, onFailure, onRecovery } = options;
  const bus = createBus((failure) => onFailure(failure, false));
  const opened = await openEngine(place, {
    registry: createRegistry(stores),
    migrations: options.migrations ?? migrations,
    now: clock.now(),
    exclusive: options.exclusive ?? false,
    acceptLoss: options.acceptLoss,
    bus,
    onDeath: (why) => onFailure(why, true),
  });
  const { engine, probe } = guardEngine(opened, place, {
    clock,
    onFailure: (failure) => onFailure(failure, false),
    onRecovery,
  });
  return {
    engine: engine.name,
    bind: <S extends Store>(store: S) => bindStore(engine, store) as never,
    listen: bus.listen,
    probe,
    close: engine.close,
  };
}

function bindStore(engine: DatabaseEngine, store: Store) {
  const reads = Object.entries(store.reads).map(([method, read]) => {
    const isKept = store.kept.includes(method);
    const start = `${store.name}.${method} `;
    return [
      method,
      (...args: unknown[]) =>
        engine.read(
          (db) => read(db, ...(args as never[])),
          isKept ? start + args.join("\n") : undefined,
        ),
    ];
  });
  const writes = Object.keys(store.writes).map((method) => [
    method,
    (...args: unknown[]) => engine.write(store.name, method, args),
  ]);
  return Object.fromEntries([...reads, ...writes]);
}
