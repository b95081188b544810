// The version of the SQLite inside this program.
import { Database as Connection } from "bun:sqlite";

export function readSqliteVersion(): string {
  const connection = new Connection(":memory:");
  const row = connection.query("SELECT sqlite_version() AS version").get() as { version: string };
  connection.close();
  return row.version;
}
