// Databases: engines, and the words in which stores are written.
import type { Clock } from "../platform/clock.ts";
import { Bus } from "./bus.ts";
import { openEngine } from "./engine.ts";
import { GuardedEngine } from "./health.ts";
import type { MigrateOptions } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import type { Migration } from "./migrations/migration.ts";
import { createRegistry, nameWrite } from "./registry.ts";
import { measureDatabase } from "./size.ts";
import {
  type Database,
  type DatabaseEngine,
  type DatabaseLocation,
  type Store,
  WROTE,
} from "./store.ts";

export { countRows, requireCapacity, WaitingRows } from "./count.ts";
export {
  type DeletedPart,
  deleteIndexed,
  deleteRows,
  deleteTrees,
  deleteWalking,
  type WalkPart,
} from "./deletion.ts";
export {
  DatabaseInUse,
  DatabaseUnavailable,
  DatabaseUnusable,
  NewerDatabase,
} from "./errors.ts";
export { FullTextIndex, type FullTextRow } from "./full-text-index.ts";
export { omitUnavailable, retryUnavailable } from "./health.ts";
export { type Inspection, inspectDatabase } from "./inspection.ts";
export { lockFile } from "./lock.ts";
export { findDamage, PageChecks } from "./page-checks.ts";
export { createRegistry, listWrites } from "./registry.ts";
export {
  cleanText,
  createInsertion,
  createInsertionFrom,
  findPageEnd,
  inLockOrder,
  into,
  none,
  type Sql,
  type SqlValue,
  splitRows,
  sql,
} from "./sql.ts";
export { readSqliteVersion } from "./sqlite.ts";
export {
  type Bound,
  type Database,
  type DatabaseLocation,
  type DatabaseSize,
  type Db,
  type Store,
  store,
  type Tx,
  WROTE,
  withRoots,
} from "./store.ts";
export {
  advance,
  beginMove,
  copyBatch,
  describeSchema,
  endMove,
  hasDatabase,
  isLocked,
  isSamePlace,
  type Loader,
  type LoadTransaction,
  lockPlace,
  type MoveOrigin,
  mergeLog,
  NO_PROGRESS,
  openLoader,
  openSnapshot,
  type PlaceLock,
  pickMigrations,
  placeDraft,
  RowRefused,
  readMove,
  removeDrafts,
  type Snapshot,
  type TableProgress,
  type TransferPlace,
  type TransferTable,
} from "./transfer/index.ts";
export { serveWrites } from "./writer-thread.ts";

/** Newest migration of this program. */
export const SCHEMA_NUMBER = migrations.at(-1)!.number;

export interface OpenOptions {
  place: DatabaseLocation;
  stores: readonly Store[];
  clock: Clock;
  /**
   * Set by servers: locks out other servers, but not command lines. "later": another server still
   * has the lock, which `lock` takes.
   */
  exclusive?: boolean | "later";
  /** Id of the only installation that may be opened. */
  installation?: string;
  /** Accepts lost commits; without it, they are an error. */
  acceptLoss?(what: string): void;
  migrations?: readonly Migration[];
  /** Called before an existing database is migrated, for a backup. */
  beforeMigration?: MigrateOptions["beforeMigration"];
  /**
   * Receives failures without a caller: a listener's bug, the writer's death, a lost lock, and once
   * a second a DatabaseUnavailable.
   */
  onFailure(failure: unknown, isFatal: boolean): void;
  onRecovery?(): void;
}

/** Opens and migrates a database; throws a DatabaseUnusable. */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const { place, stores, clock, onFailure, onRecovery } = options;
  const bus = new Bus((failure) => onFailure(failure, false));
  const opened = await openEngine(place, {
    registry: createRegistry(stores),
    migrations: options.migrations ?? migrations,
    now: clock.now(),
    exclusive: options.exclusive ?? false,
    installation: options.installation,
    expandOnly: options.exclusive === "later",
    beforeMigration: options.beforeMigration,
    acceptLoss: options.acceptLoss,
    bus,
    onDeath: (reason) => onFailure(reason, true),
  });
  const engine = new GuardedEngine(opened, place, {
    clock,
    onFailure: (failure) => onFailure(failure, false),
    onRecovery,
  });
  const bound = new Map<Store, object>();
  return {
    engine: engine.name,
    isShared: place.kind === "postgres" && place.isShared === true,
    bind<S extends Store>(store: S) {
      const methods = bound.get(store) ?? bindStore(engine, store, bus);
      bound.set(store, methods);
      return methods as never;
    },
    listen: (channel, run) => bus.listen(channel, run),
    measure: () => measureDatabase(place, engine),
    probe: () => engine.probe(),
    lock: () => opened.lock(),
    close: () => engine.close(),
  };
}

function bindStore(engine: DatabaseEngine, store: Store, bus: Bus) {
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
    (...args: unknown[]) => {
      const written = engine.write(store.name, method, args);
      // Most servers have no listener, and then a write costs nothing more.
      if (bus.isHeard(WROTE)) {
        const name = nameWrite(store.name, method);
        written.then(
          () => bus.publish([[WROTE, name]]),
          () => {},
        );
      }
      return written;
    },
  ]);
  return Object.freeze(Object.fromEntries([...reads, ...writes]));
}
