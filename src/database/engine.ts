// Opens each kind of place: lock, connection, schema, engine; a failure is undone and explained.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Bus } from "./bus.ts";
import { alignCounter } from "./commit-counter.ts";
import { DatabaseUnusable, explainPostgres, explainSqlite } from "./errors.ts";
import { createInlineEngine } from "./inline.ts";
import { lockDatabase, lockPostgres } from "./lock.ts";
import { findLoss, keepLog } from "./loss.ts";
import { migratePostgres, migrateSqlite } from "./migrate.ts";
import type { Migration } from "./migrations/migration.ts";
import { createPostgresEngine, openPool } from "./postgres.ts";
import { openConnection } from "./sqlite.ts";
import type { DatabaseEngine } from "./store.ts";
import type { Registry } from "./transaction.ts";
import { createWriterEngine } from "./writer.ts";

/** Where the data lives and who writes it. */
export type DatabaseLocation =
  | { kind: "memory" }
  /** `writer`: the Worker that serves writes; without it they run here (command line). */
  | { kind: "sqlite"; file: string; writer?: URL }
  /** One connection where the server gives no more (PGlite): then nobody else can be there. */
  | { kind: "postgres"; url: string; connections_max: number };

/** What an engine is opened with, whatever its place. */
export interface EngineOptions {
  registry: Registry;
  migrations: readonly Migration[];
  /** Dates the migrations. */
  now: number;
  /** True: no other server may be on the same data. */
  exclusive: boolean;
  acceptLoss?(what: string): void;
  bus: Bus;
  /** The engine can never write again. */
  onDeath(why: Error): void;
}

/** An engine on `place`; closing it lets go of everything. Throws a DatabaseUnusable. */
export function openEngine(
  place: DatabaseLocation,
  opening: EngineOptions,
): Promise<DatabaseEngine> {
  return place.kind === "postgres" ? openPostgres(place, opening) : openSqlite(place, opening);
}

async function openSqlite(
  place: Exclude<DatabaseLocation, { kind: "postgres" }>,
  { registry, migrations, now, exclusive, acceptLoss, bus, onDeath }: EngineOptions,
): Promise<DatabaseEngine> {
  const file = place.kind === "memory" ? ":memory:" : place.file;
  const undo: (() => void)[] = [];
  try {
    let noted: number | null = null;
    if (place.kind === "sqlite") {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      if (exclusive) undo.push(lockDatabase(file));
      noted = judgeLoss(file, exclusive, acceptLoss);
    }
    const connection = openConnection(file);
    undo.unshift(() => connection.close(true));
    await migrateSqlite(connection, migrations, now);
    if (place.kind === "sqlite") alignCounter(connection, noted);
    const engine =
      place.kind === "sqlite" && place.writer
        ? createWriterEngine(connection, place.writer, bus, onDeath)
        : createInlineEngine(connection, registry, bus.publish);
    return releaseAfter(engine, undo);
  } catch (failure) {
    for (const step of undo) step();
    throw explainSqlite(file, failure);
  }
}

/** The number of commits that was noted. Throws where some are missing and nobody accepts that. */
function judgeLoss(
  file: string,
  exclusive: boolean,
  acceptLoss?: (what: string) => void,
): number | null {
  const found = findLoss(file);
  if (found.loss === null) return found.noted;
  // Nobody else is there: the log stands still.
  if (exclusive) keepLog(file, found);
  const loss = findLoss(file).loss ?? found.loss;
  if (!acceptLoss) throw new DatabaseUnusable(loss);
  acceptLoss(loss);
  return found.noted;
}

async function openPostgres(
  place: Extract<DatabaseLocation, { kind: "postgres" }>,
  { registry, migrations, now, exclusive, bus, onDeath }: EngineOptions,
): Promise<DatabaseEngine> {
  const { url, connections_max } = place;
  const mayBeShared = connections_max > 1;
  const undo: (() => Promise<void>)[] = [];
  try {
    if (exclusive && mayBeShared) undo.push(await lockPostgres(url, onDeath));
    const pool = openPool(url, connections_max);
    undo.unshift(() => pool.close());
    await migratePostgres(pool, migrations, now);
    const engine = await createPostgresEngine(pool, registry, bus, mayBeShared);
    return releaseAfter(engine, undo);
  } catch (failure) {
    for (const step of undo) await step();
    throw explainPostgres(url, failure);
  }
}

function releaseAfter(
  engine: DatabaseEngine,
  undo: readonly (() => Promise<void> | void)[],
): DatabaseEngine {
  const close = async () => {
    await engine.close();
    for (const step of undo) await step();
  };
  return { ...engine, close };
}
