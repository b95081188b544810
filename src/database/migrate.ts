// Migrates a database to the newest schema; it never goes back.
import type { Database as Connection } from "bun:sqlite";
import type { SQL } from "bun";
import { NewerDatabase, SchemaContracted } from "./errors.ts";
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
  /**
   * An expansion adds tables, indexes, and columns that writers may leave out. The version before
   * works with the database after it. Any other migration raises the schema's number.
   */
  kind?: "expansion";
  statements(dialect: Dialect): string[];
}

/** Numbers of applied migrations; versions before expansions know only those of the schema. */
export interface AppliedMigrations {
  schema: readonly number[];
  expansions: readonly number[];
}

export interface MigrateOptions {
  migrations: readonly Migration[];
  now: number;
  /** Another process serves the database: it must be able to go on. */
  expandOnly: boolean;
  /** Called before an existing database is changed, for a backup. */
  beforeMigration?(missing: readonly Migration[]): Promise<void>;
}

export interface MigrationRunner {
  dialect: Dialect;
  run(text: string): Promise<unknown>;
  listApplied(): Promise<AppliedMigrations | null>;
  record(table: MigrationTable, migration: Migration): Promise<unknown>;
}

type MigrationTable = "wadi_schema" | "wadi_expansions";

const NONE: AppliedMigrations = { schema: [], expansions: [] };

/** Number of the advisory lock, which no other program uses. */
const POSTGRES_LOCK = 7_241_986;

/** Migrates SQLite; an up-to-date database is only read, so lists wait for no writer. */
export async function migrateSqlite(
  connection: Connection,
  options: MigrateOptions,
): Promise<void> {
  if (!(await prepare(listSqliteMigrations(connection), options))) return;
  connection.run("BEGIN IMMEDIATE");
  try {
    await migrate(options.migrations, createSqliteRunner(connection, options.now));
    connection.run("COMMIT");
  } catch (failure) {
    if (connection.inTransaction) connection.run("ROLLBACK");
    throw failure;
  }
}

/** Migrates PostgreSQL; a second process waits for the first. */
export async function migratePostgres(pool: SQL, options: MigrateOptions): Promise<void> {
  if (!(await prepare(await listPostgresMigrations(pool), options))) return;
  await pool.begin(async (runner) => {
    await runner.unsafe(`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`);
    await migrate(options.migrations, createPostgresRunner(runner, options.now));
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
    listApplied: async () => listSqliteMigrations(connection),
    record: async (table, { number, name }) =>
      connection.run(`INSERT INTO ${table} VALUES (?, ?, ?)`, [number, name, now]),
  };
}

export function createPostgresRunner(runner: SQL, now: number): MigrationRunner {
  return {
    dialect: { integer: "BIGINT", text: 'TEXT COLLATE "C"', strict: "", clustered: "" },
    run: (text) => runner.unsafe(text),
    listApplied: () => listPostgresMigrations(runner),
    record: (table, { number, name }) =>
      runner.unsafe(`INSERT INTO ${table} VALUES ($1, $2, $3)`, [number, name, now]),
  };
}

/** Returns null for a database without a schema. */
export function listSqliteMigrations(connection: Connection): AppliedMigrations | null {
  const list = (table: MigrationTable) =>
    hasTable(connection, table)
      ? connection
          .query(`SELECT number FROM ${table}`)
          .values()
          .map(([one]) => Number(one))
      : null;
  const schema = list("wadi_schema");
  return schema && { schema, expansions: list("wadi_expansions") ?? [] };
}

/** Returns null for a database without a schema. */
export async function listPostgresMigrations(
  pool: Pick<SQL, "unsafe">,
): Promise<AppliedMigrations | null> {
  const list = async (table: MigrationTable) => {
    const [found] = await pool.unsafe(`SELECT to_regclass('${table}') IS NOT NULL AS is_there`);
    if (!found.is_there) return null;
    const rows = await pool.unsafe(`SELECT number FROM ${table}`);
    return rows.map((row: { number: unknown }) => Number(row.number));
  };
  const schema = await list("wadi_schema");
  return schema && { schema, expansions: (await list("wadi_expansions")) ?? [] };
}

/** Returns whether anything has to be migrated; throws where the database must stay as it is. */
async function prepare(
  applied: AppliedMigrations | null,
  { migrations, expandOnly, beforeMigration }: MigrateOptions,
): Promise<boolean> {
  const missing = listMissing(migrations, applied ?? NONE);
  if (missing.length === 0) return false;
  if (expandOnly && missing.some(({ kind }) => kind !== "expansion")) throw new SchemaContracted();
  if (applied) await beforeMigration?.(missing);
  return true;
}

/** Applies what is missing, in the transaction of the runner. */
export async function migrate(
  migrations: readonly Migration[],
  runner: MigrationRunner,
): Promise<void> {
  const { integer, text, strict } = runner.dialect;
  for (const table of ["wadi_schema", "wadi_expansions"] satisfies MigrationTable[]) {
    await runner.run(
      `CREATE TABLE IF NOT EXISTS ${table} (number ${integer} PRIMARY KEY, name ${text} NOT NULL,
        applied_at ${integer} NOT NULL)${strict}`,
    );
  }
  for (const migration of listMissing(migrations, (await runner.listApplied()) ?? NONE)) {
    // Together, since PostgreSQL answers each text by itself.
    const text = migration.statements(runner.dialect).join(";\n");
    if (text !== "") await runner.run(text);
    const isExpansion = migration.kind === "expansion";
    await runner.record(isExpansion ? "wadi_expansions" : "wadi_schema", migration);
  }
}

/**
 * Lists what was not applied yet; throws where the database is newer than this program. Unknown
 * expansions are no obstacle.
 */
export function listMissing(
  migrations: readonly Migration[],
  { schema, expansions }: AppliedMigrations,
): readonly Migration[] {
  const newest = migrations.at(-1)!.number;
  const found = Math.max(0, ...schema);
  if (found > newest) throw new NewerDatabase(found, newest);
  const applied = new Set([...schema, ...expansions]);
  return migrations.filter(({ number }) => !applied.has(number));
}
