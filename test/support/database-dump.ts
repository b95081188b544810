// The rows of a database file, checked for damage.
import { Database as Connection } from "bun:sqlite";

/**
 * Returns every row of every table of a file, except its number of commits; throws for a
 * damaged file.
 */
export function dumpDatabase(file: string): Record<string, unknown[]> {
  using connection = new Connection(file);
  const found = connection.query("PRAGMA integrity_check").values().flat().join("; ");
  const broken = connection.query("PRAGMA foreign_key_check").all();
  if (found !== "ok" || broken.length > 0) throw new Error(`${file} is damaged: ${found}`);
  const tables = connection
    .query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'wadi_commits'")
    .values();
  return Object.fromEntries(
    tables.map(([name]) => {
      const rows = connection.query(`SELECT * FROM "${name}"`).all();
      return [
        String(name),
        rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      ];
    }),
  );
}
