// Migrates a database to the newest schema; it never goes back.
import type { Database as Connection } from "bun:sqlite";
import type { SQL } from "bun";
import { NewerDatabase } from "./errors.ts";
import { hasTable } from "./sqlite.ts";

export interface Dialect {
  integer: "INTEGER" | "BIGINT";
  /** Text that sorts by code points, independent of the server's locale. */
  text: "TEXT" | 'TEXT COLLATE "C"';
  strict: " STRICT" | "";
  clustered: " STRICT, WITHOUT ROWID" | "";
}

export interface Migration {
  number: number;
  name: string;
  statements(dialect: Dialect): string[];
}

export interface MigrationRunner {
  dialect: Dialect;
  run(text: string): Promise<unknown>;
  listApplied(): Promise<number[]>;
  record(migration: Migration): Promise<unknown>;
}

/** Number of the advisory lock, which no other program uses. */
const POSTGRES_LOCK = 7_241_986;

/** Migrates SQLite; an up-to-date database is only read, so lists wait for no writer. */
export async function migrateSqlite(
  connection: Connection,
  migrations: readonly Migration[],
  now: number,
): Promise<void> {
  const runner = createSqliteRunner(connection, now);
  const hasSchema = hasTable(connection, "wadi_schema");
  if (hasSchema && listMissing(migrations, await runner.listApplied()).length === 0) return;
  connection.run("BEGIN IMMEDIATE");
  try {
    await migrate(migrations, runner);
    connection.run("COMMIT");
  } catch (failure) {
    if (connection.inTransaction) connection.run("ROLLBACK");
    throw failure;
  }
}

/** Migrates PostgreSQL; a second process waits for the first. */
export async function migratePostgres(
  pool: SQL,
  migrations: readonly Migration[],
  now: number,
): Promise<void> {
  await pool.begin(async (runner) => {
    await runner.unsafe(`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`);
    await migrate(migrations, createPostgresRunner(runner, now));
  });
}

export function createSqliteRunner(connection: Connection, now: number): MigrationRunner {
  return {
    dialect: {
      integer: "INTEGER",
      text: "TEXT",
      strict: " STRICT",
      clustered: " STRICT, WITHOUT ROWID",
    },
    run: async (text) => connection.run(text),
    listApplied: async () =>
      connection
        .query<{ number: number }, []>("SELECT number FROM wadi_schema")
        .all()
        .map((row) => row.number),
    record: async ({ number, name }) =>
      connection.run("INSERT INTO wadi_schema VALUES (?, ?, ?)", [number, name, now]),
  };
}

export function createPostgresRunner(runner: SQL, now: number): MigrationRunner {
  return {
    dialect: { integer: "BIGINT", text: 'TEXT COLLATE "C"', strict: "", clustered: "" },
    run: (text) => runner.unsafe(text),
    listApplied: async () =>
      (await runner.unsafe("SELECT number FROM wadi_schema")).map((row: { number: unknown }) =>
        Number(row.number),
      ),
    record: ({ number, name }) =>
      runner.unsafe("INSERT INTO wadi_schema VALUES ($1, $2, $3)", [number, name, now]),
  };
}

/** Applies what is missing, in the transaction of the runner. */
export async function migrate(
  migrations: readonly Migration[],
  runner: MigrationRunner,
): Promise<void> {
  const { integer, text, strict } = runner.dialect;
  await runner.run(
    `CREATE TABLE IF NOT EXISTS wadi_schema (number ${integer} PRIMARY KEY, name ${text} NOT NULL,
      applied_at ${integer} NOT NULL)${strict}`,
  );
  for (const migration of listMissing(migrations, await runner.listApplied())) {
    for (const statement of migration.statements(runner.dialect)) await runner.run(statement);
    await runner.record(migration);
  }
}

/** Lists what was not applied yet; throws where the database is newer than this program. */
export function listMissing(
  migrations: readonly Migration[],
  applied: readonly number[],
): readonly Migration[] {
  const newest = migrations.at(-1)!.number;
  const found = Math.max(0, ...applied);
  if (found > newest) throw new NewerDatabase(found, newest);
  return migrations.filter((one) => !applied.includes(one.number));
}
