// Opens each kind of database: lock, connection, schema, engine; a failure is undone and explained.
import type { Database as Connection } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { SQL } from "bun";
import type { Bus } from "./bus.ts";
import { alignCounter } from "./commit-counter.ts";
import { DatabaseUnusable, explainPostgres, explainSqlite } from "./errors.ts";
import { GroupCommit } from "./group-commit.ts";
import { requirePostgresIdentity, requireSqliteFile, requireSqliteIdentity } from "./identity.ts";
import { countServers, lockPostgres, prepareLock } from "./lock.ts";
import { findLoss, keepLog } from "./loss.ts";
import { type MigrateOptions, migratePostgres, migrateSqlite } from "./migrate.ts";
import { PostgresEngine } from "./postgres.ts";
import { openPool } from "./postgres-connections.ts";
import { createQueue, type Registry } from "./registry.ts";
import { openConnection } from "./sqlite.ts";
import type { DatabaseEngine, DatabaseLocation, Db } from "./store.ts";
import { removeDrafts } from "./transfer/drafts.ts";
import { requireOpenablePostgres, requireOpenableSqlite } from "./transfer/state.ts";
import { WriterEngine } from "./writer.ts";

export interface EngineOptions extends MigrateOptions {
  registry: Registry;
  exclusive: boolean | "later";
  /** Id of the only installation that may be opened. */
  installation?: string;
  acceptLoss?(what: string): void;
  bus: Bus;
  onDeath(reason: Error): void;
}

export interface OpenedEngine extends DatabaseEngine {
  lock(): Promise<void>;
}

/** Opens an engine whose close releases everything. Throws a DatabaseUnusable. */
export function openEngine(place: DatabaseLocation, options: EngineOptions): Promise<OpenedEngine> {
  return place.kind === "postgres" ? openPostgres(place, options) : openSqlite(place, options);
}

async function openSqlite(
  place: Exclude<DatabaseLocation, { kind: "postgres" }>,
  options: EngineOptions,
): Promise<OpenedEngine> {
  const { registry, bus, exclusive, installation } = options;
  const file = place.kind === "memory" ? ":memory:" : place.file;
  const undo: (() => void)[] = [];
  let lock = async () => {};
  try {
    let noted: number | null = null;
    if (place.kind === "sqlite") {
      if (installation !== undefined) requireSqliteFile(file);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      if (exclusive) {
        const take = prepareLock(file);
        lock = async () => void undo.push(take());
      }
      if (exclusive === true) {
        await lock();
        removeDrafts(file);
      }
      noted = checkLoss(file, exclusive === true, options.acceptLoss);
    }
    const connection = openConnection(file, place.kind === "memory" ? place.image : undefined);
    undo.unshift(() => connection.close(true));
    requireOpenableSqlite(connection, file);
    if (installation !== undefined) requireSqliteIdentity(connection, file, installation);
    await migrateSqlite(connection, options);
    if (place.kind === "sqlite") alignCounter(connection, noted);
    const engine =
      place.kind === "sqlite" && place.writer
        ? new WriterEngine(connection, place.writer, bus, options.onDeath)
        : createInlineEngine(place.kind, connection, { registry, bus });
    return releaseAfter(engine, undo, lock);
  } catch (failure) {
    for (const step of undo) step();
    throw explainSqlite(file, failure);
  }
}

function checkLoss(
  file: string,
  exclusive: boolean,
  acceptLoss?: (what: string) => void,
): number | null {
  const found = findLoss(file);
  if (found.loss === null) return found.noted;
  // Under the exclusive lock the log cannot change.
  if (exclusive) keepLog(file, found);
  const loss = findLoss(file).loss ?? found.loss;
  if (!acceptLoss) throw new DatabaseUnusable(loss);
  acceptLoss(loss);
  return found.noted;
}

/** Runs SQLite in the caller's thread; one queue keeps reads from seeing half a write. */
function createInlineEngine(
  name: "sqlite" | "memory",
  connection: Connection,
  { registry, bus }: Pick<EngineOptions, "registry" | "bus">,
): DatabaseEngine {
  const group = new GroupCommit(connection, registry);
  const queue = createQueue();
  return {
    name,
    read: (work: (db: Db) => Promise<never>) => queue(() => work(group.tx)),
    write: (store, method, args) =>
      queue(async () => {
        const { outcomes, notifications } = await group.commit([{ store, method, args }]);
        bus.publish(notifications);
        const outcome = outcomes[0]!;
        if (!outcome.ok) throw outcome.failure;
        return outcome.value;
      }),
    close: () => queue(async () => group.close()),
  };
}

type PostgresLocation = Extract<DatabaseLocation, { kind: "postgres" }>;

async function openPostgres(
  { url, pooler, connectionsMax, isShared = false }: PostgresLocation,
  options: EngineOptions,
): Promise<OpenedEngine> {
  const { registry, exclusive, bus, onDeath } = options;
  const undo: (() => Promise<void>)[] = [];
  const lock = async () => {
    if (connectionsMax > 1) undo.push(await lockPostgres(url, onDeath, isShared));
  };
  try {
    if (exclusive === true) await lock();
    await preparePostgres(url, isShared, options);
    const announces = exclusive === false ? "in the transaction" : isShared ? "behind" : "never";
    const engine = new PostgresEngine({
      ...{ url, pooler, connectionsMax, registry, bus, announces, takesTurns: isShared },
    });
    await engine.listening();
    return releaseAfter(engine, undo, lock);
  } catch (failure) {
    for (const step of undo) await step();
    throw explainPostgres(url, failure);
  }
}

async function preparePostgres(
  url: string,
  isShared: boolean,
  options: EngineOptions,
): Promise<void> {
  const pool = openPool(url, 1);
  try {
    await requireOpenablePostgres(pool, url);
    const { installation } = options;
    if (installation !== undefined) await requirePostgresIdentity(pool, url, installation);
    // A command has no lock of its own.
    const own = options.exclusive === true ? 1 : 0;
    const hasOlder: MigrateOptions["hasOlder"] = async (runner, number) => {
      const others = (await countServers(runner)) - own;
      return others > 0 && (await countNotOlder(runner, number)) < others;
    };
    await migratePostgres(pool, { ...options, hasOlder: isShared ? hasOlder : undefined });
  } finally {
    await pool.close();
  }
}

/** Counts live processes that have told that migration or a newer one; 0 where one has not. */
async function countNotOlder(runner: Pick<SQL, "unsafe">, number: number): Promise<number> {
  // The column may be missing yet.
  const known = "coalesce((to_jsonb(processes) ->> 'schema_number')::bigint, 0)";
  const rows = await runner.unsafe(`SELECT CASE WHEN bool_and(${known} >= ${number})
      THEN count(*)::int ELSE 0 END AS processes
    FROM processes WHERE ended_at IS NULL`);
  return rows[0].processes;
}

function releaseAfter(
  engine: DatabaseEngine,
  undo: readonly (() => Promise<void> | void)[],
  lock: () => Promise<void>,
): OpenedEngine {
  return {
    name: engine.name,
    read: (work, keptAs) => engine.read(work, keptAs),
    write: (store, method, args) => engine.write(store, method, args),
    lock,
    async close() {
      await engine.close();
      for (const step of undo) await step();
    },
  };
}
