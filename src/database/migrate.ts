// Migrates a database to the newest schema; it never goes back.
import type { Database as Connection } from "bun:sqlite";
import type { SQL } from "bun";
import { unpackText } from "../platform/packed.ts";
import { NewerDatabase, SchemaContracted } from "./errors.ts";
import type { Dialect, Migration } from "./migrations/migration.ts";
import { released } from "./migrations/released.ts";
import { isLocked } from "./postgres-failures.ts";
import schemaPath from "./schema.sql" with { type: "file" };
import { hasTable } from "./sqlite.ts";

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
  /** Tells if a process lives whose newest migration is below that number. */
  hasOlder?(runner: Pick<SQL, "unsafe">, number: number): Promise<boolean>;
  /** Called before an existing database is changed, for a backup. */
  beforeMigration?(missing: readonly Migration[]): Promise<void>;
}

export interface MigrationRunner {
  dialect: Dialect;
  run(text: string): Promise<unknown>;
  listApplied(): Promise<AppliedMigrations | null>;
  record(table: MigrationTable, migration: Pick<Migration, "number" | "name">): Promise<unknown>;
  /** Creates the tables of all released migrations in a new database. */
  createTables?(): Promise<unknown>;
}

type MigrationTable = "wadi_schema" | "wadi_expansions";

const NONE: AppliedMigrations = { schema: [], expansions: [] };

/** Number of the advisory lock, which no other program uses. */
const POSTGRES_LOCK = 7_241_986;
/** Maximum wait for the lock of a table, and the pause after it. */
const TABLE_LOCK_MS = 2_000;
const TABLE_LOCK_TRIES_MAX = 15;

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
  const applied = await listPostgresMigrations(pool);
  const compatibleFrom = findCompatible(listMissing(options.migrations, applied ?? NONE));
  const requireNoOlder = async (runner: Pick<SQL, "unsafe">) => {
    if (!applied || compatibleFrom === 0) return;
    if (await options.hasOlder?.(runner, compatibleFrom)) throw new SchemaContracted();
  };
  await requireNoOlder(pool);
  if (!(await prepare(applied, options))) return;
  for (let tries = 1; ; tries++) {
    try {
      await pool.begin(async (runner) => {
        await runner.unsafe(`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`);
        // A table that waits for its lock holds up all that use it.
        await runner.unsafe(`SET LOCAL lock_timeout = ${TABLE_LOCK_MS}`);
        // A process that starts meanwhile reads this table after the commit.
        if (applied) await runner.unsafe("LOCK TABLE wadi_schema IN ACCESS EXCLUSIVE MODE");
        await requireNoOlder(runner);
        await migrate(options.migrations, createPostgresRunner(runner, options.now));
      });
      return;
    } catch (failure) {
      if (tries === TABLE_LOCK_TRIES_MAX || !isLocked(failure)) throw failure;
      await Bun.sleep(TABLE_LOCK_MS);
    }
  }
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
    createTables: async () => connection.run(unpackText(await Bun.file(schemaPath).bytes())),
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
  const applied = (await runner.listApplied()) ?? NONE;
  let compatibleFrom = Math.max(0, ...applied.schema);
  const missing = listMissing(migrations, applied);
  const isNew = released.every((migration, index) => missing[index] === migration);
  // Their tables at once take a sixth of the time.
  if (isNew) await runner.createTables?.();
  const created = isNew && runner.createTables ? released.length : 0;
  for (const [index, migration] of missing.entries()) {
    const statements = index < created ? [] : migration.statements(runner.dialect);
    // Together, since PostgreSQL answers each text by itself.
    if (statements.length > 0) await runner.run(statements.join(";\n"));
    const { name } = migration;
    const number = findCompatible([migration]);
    const isAlike = number === migration.number;
    if (!isAlike) await runner.record("wadi_expansions", migration);
    // The highest number of this table is `compatible_from` of the database.
    if (isAlike || number > compatibleFrom) await runner.record("wadi_schema", { number, name });
    compatibleFrom = Math.max(number, compatibleFrom);
  }
}

/** Finds the oldest newest migration of programs that work after these; 0: all do. */
function findCompatible(missing: readonly Migration[]): number {
  const from = ({ kind, number, compatible_from = number }: Migration) =>
    kind === "expansion" ? 0 : compatible_from;
  return Math.max(0, ...missing.map(from));
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
