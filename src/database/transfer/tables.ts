// The tables of a schema as its migrations create them: columns, kinds and keys.
import { Database as Connection } from "bun:sqlite";
import { NewerDatabase } from "../errors.ts";
import { migrateSqlite } from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import type { Migration } from "../migrations/migration.ts";

export interface TransferTable {
  name: string;
  columns: readonly string[];
  /** Columns of texts; all others hold integers. */
  texts: ReadonlySet<string>;
  /** Columns of the primary key, by which rows are ordered. */
  key: readonly string[];
}

/** Tables that belong to a database itself: its schema, its trial row, its number of commits. */
const OWN_TABLES = ["wadi_schema", "wadi_expansions", "wadi_probe", "wadi_commits"];

/** Table of a move's progress, which a target has until it is whole. */
export const MOVE_TABLE = "wadi_move";

/** Lists every table that this program may have made, each before those that it refers to. */
export async function listOwnNames(): Promise<string[]> {
  const known = await describeTables(migrations);
  return [...known.map(({ name }) => name).toReversed(), ...OWN_TABLES, "ledger_days", MOVE_TABLE];
}

/** Finds the migrations with these numbers; throws where one is unknown to this program. */
export function pickMigrations(
  numbers: readonly number[],
  known: readonly Migration[] = migrations,
): Migration[] {
  const unknown = numbers.find((number) => !known.some((one) => one.number === number));
  if (unknown !== undefined) throw new NewerDatabase(Math.max(...numbers), known.at(-1)!.number);
  return known.filter(({ number }) => numbers.includes(number));
}

/** Describes the tables of a stored schema; null for one that no database can have. */
export async function describeSchema(numbers: readonly number[]): Promise<TransferTable[] | null> {
  const applied = pickMigrations(numbers);
  try {
    // A restore brings it forward.
    await describeTables([...applied, ...migrations.filter((one) => !applied.includes(one))]);
    return await describeTables(applied);
  } catch {
    return null;
  }
}

/**
 * Describes the tables in the order of their creation, so that references point backwards. Both
 * engines have the same ones, because the same migrations create them.
 */
export async function describeTables(applied: readonly Migration[]): Promise<TransferTable[]> {
  const connection = new Connection(":memory:", { strict: true });
  try {
    await migrateSqlite(connection, { migrations: applied, now: 0, expandOnly: false });
    const names = connection
      .query<{ name: string }, []>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
         ORDER BY rowid`,
      )
      .all()
      .map(({ name }) => name);
    return names
      .filter((name) => !OWN_TABLES.includes(name))
      .map((name) => describe(connection, name));
  } finally {
    connection.close();
  }
}

function describe(connection: Connection, name: string): TransferTable {
  const columns = connection
    .query<{ name: string; type: string; pk: number }, []>(`PRAGMA table_info(${name})`)
    .all();
  const key = columns.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk);
  if (key.length === 0) throw new Error(`the table ${name} has no primary key`);
  return {
    name,
    columns: columns.map((column) => column.name),
    texts: new Set(columns.filter(({ type }) => type === "TEXT").map((column) => column.name)),
    key: key.map((column) => column.name),
  };
}
