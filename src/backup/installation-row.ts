// The row of the installation in a snapshot, of any schema that has one.
import type { Snapshot } from "../database/index.ts";

/** Returns what reads a column of the row; null: its schema is older than installations. */
export async function readInstallationRow(
  snapshot: Snapshot,
): Promise<((column: string) => string | null) | null> {
  const table = snapshot.tables.find(({ name }) => name === "wadi_installation");
  if (!table) return null;
  const [batch] = await Array.fromAsync(snapshot.scan(table));
  const row = JSON.parse(batch![0]!) as (string | null)[];
  return (column) => row[table.columns.indexOf(column)] ?? null;
}
