// A takeover stays on the data of the running server, known by the id of the installation.
import type { Database as Connection } from "bun:sqlite";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { SQL } from "bun";
import { OtherDatabase } from "./errors.ts";
import { hasTable } from "./sqlite.ts";

const FIND_ID = "SELECT id FROM wadi_installation";

/** Throws before an open would make the file. */
export function requireSqliteFile(file: string): void {
  if (!statSync(file, { throwIfNoEntry: false })?.size) throw new OtherDatabase(dirname(file));
}

export function requireSqliteIdentity(connection: Connection, file: string, id: string): void {
  const found = hasTable(connection, "wadi_installation") && connection.query(FIND_ID).values()[0];
  if (!found || found[0] !== id) throw new OtherDatabase(dirname(file));
}

export async function requirePostgresIdentity(pool: SQL, url: string, id: string): Promise<void> {
  const there = "SELECT to_regclass('wadi_installation') IS NOT NULL AS is_there";
  const [{ is_there }] = await pool.unsafe(there);
  const [found] = is_there ? await pool.unsafe(FIND_ID) : [];
  if (found?.id === id) return;
  const { host, pathname } = new URL(url);
  throw new OtherDatabase(`PostgreSQL at ${host}${pathname}`);
}
