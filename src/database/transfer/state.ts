// Databases that no program may open: targets of unfinished moves, and sources of whole ones.
import { Database as Connection } from "bun:sqlite";
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { SQL } from "bun";
import { DatabaseUnusable, explainPostgres, explainSqlite } from "../errors.ts";
import { openPool } from "../postgres-connections.ts";
import { codeOf, hasTable } from "../sqlite.ts";
import type { DatabaseLocation } from "../store.ts";
import { requireFreeNames } from "./foreign-tables.ts";
import { MOVE_TABLE } from "./tables.ts";

export type TransferPlace = Exclude<DatabaseLocation, { kind: "memory" }>;

const POSTGRES_PORT = "5432";
const FIND_MOVED = "SELECT moved_to, moved_at FROM wadi_installation";

export function requireOpenableSqlite(connection: Connection, file: string): void {
  if (hasTable(connection, MOVE_TABLE)) throw explainUnfinished(file);
  if (!hasTable(connection, "wadi_installation")) return;
  const [moved_to, moved_at] = connection.query(FIND_MOVED).values()[0] ?? [];
  if (typeof moved_to === "string") throw explainMoved(file, moved_to, Number(moved_at));
}

export async function requireOpenablePostgres(pool: SQL, url: string): Promise<void> {
  const name = `the database at ${URL.parse(url)?.host}`;
  const [found] = await pool.unsafe(
    `SELECT to_regclass('${MOVE_TABLE}') IS NOT NULL AS is_unfinished,
       to_regclass('wadi_schema') IS NOT NULL AS is_own,
       to_regclass('wadi_installation') IS NOT NULL AS has_row`,
  );
  if (!found.is_own) return requireFreeNames(pool, url);
  if (found.is_unfinished) throw explainUnfinished(name);
  if (!found.has_row) return;
  const [row] = await pool.unsafe(FIND_MOVED);
  if (row?.moved_to) throw explainMoved(name, row.moved_to, Number(row.moved_at));
}

function explainUnfinished(name: string): DatabaseUnusable {
  return new DatabaseUnusable(
    `${name} is not whole: a move to it was interrupted; run the same \`wadi move\` again, ` +
      "or restore a backup over it with `wadi restore FILE --yes`",
  );
}

function explainMoved(name: string, moved_to: string, moved_at: number): DatabaseUnusable {
  const at = new Date(moved_at).toISOString();
  return new DatabaseUnusable(
    `the data of ${name} was moved to ${moved_to} at ${at}: name that place in the settings; ` +
      "if it says that it is not whole, run the same `wadi move` again",
  );
}

/** Finds whether a place holds data of Wadi, or a file that nothing may replace unasked. */
export async function hasDatabase(place: TransferPlace): Promise<boolean> {
  if (place.kind === "sqlite")
    return (statSync(place.file, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const pool = openPool(place.url, 1);
  try {
    const [found] = await pool.unsafe("SELECT to_regclass('wadi_schema') IS NOT NULL AS is_there");
    return found.is_there === true;
  } catch (failure) {
    throw explainPostgres(place.url, failure);
  } finally {
    await pool.close();
  }
}

/** Finds whether two names lead to the same data. */
export function isSamePlace(one: TransferPlace, other: TransferPlace): boolean {
  return identify(one) === identify(other);
}

function identify(place: TransferPlace): string {
  if (place.kind === "sqlite") {
    const directory = dirname(resolve(place.file));
    const real = existsSync(directory) ? realpathSync(directory) : directory;
    return join(real, basename(place.file));
  }
  const address = URL.parse(place.url);
  return `${address?.hostname}:${address?.port || POSTGRES_PORT}${address?.pathname}`;
}

/**
 * Brings the log of a SQLite database back into its file; a damaged one stays as it is. Throws
 * where another program still uses the log.
 */
export function mergeLog(file: string): void {
  let connection: Connection | undefined;
  try {
    connection = new Connection(file, { readwrite: true, strict: true });
    connection.run("PRAGMA journal_mode = DELETE");
  } catch (failure) {
    if (!/^SQLITE_(NOTADB|CORRUPT)/.test(codeOf(failure))) throw explainSqlite(file, failure);
  } finally {
    connection?.close();
  }
}
