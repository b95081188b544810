// Fills a database with rows from a snapshot or a backup, in transactions of the caller's size.
import { Database as Connection, type Statement } from "bun:sqlite";
import { closeSync, fsyncSync, openSync } from "node:fs";
import type { TransactionSQL } from "bun";
import { explainPostgres, explainSqlite } from "../errors.ts";
import {
  createPostgresRunner,
  createSqliteRunner,
  type MigrationRunner,
  migrate,
} from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import type { Migration } from "../migrations/migration.ts";
import { CONNECT_TIMEOUT_S } from "../postgres-connections.ts";
import { executeOn } from "../postgres-executor.ts";
import { createExecutor as createSqliteExecutor, hasTable, openConnection } from "../sqlite.ts";
import type { Tx } from "../store.ts";
import { requireOwnTables } from "./foreign-tables.ts";
import { explainRow, readCells } from "./row.ts";
import { createPostgresSeal, createSqliteSeal, type Seal } from "./seal.ts";
import type { TransferPlace } from "./state.ts";
import { describeTables, listOwnNames, type TransferTable } from "./tables.ts";

/** One transaction on a target. */
export interface LoadTransaction extends Seal {
  tx: Tx;
  hasTable(name: string): Promise<boolean>;
  run(text: string): Promise<unknown>;
  /** Creates the tables as these migrations left them, without a row. */
  create(applied: readonly Migration[]): Promise<readonly TransferTable[]>;
  /** Brings the tables forward to this program's schema. */
  bringForward(): Promise<void>;
  /** Removes every table of Wadi's; throws where another program has one of their names. */
  drop(): Promise<void>;
  /** Throws a RowRefused for a row that does not fit. */
  insert(table: TransferTable, rows: readonly string[]): Promise<void>;
}

export interface Loader {
  transact<T>(work: (load: LoadTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface LoaderOptions {
  now: number;
  /** A SQLite file of the loader's own: no journal survives a kill, and it is synced at the end. */
  isFresh?: boolean;
}

export function openLoader(place: TransferPlace, options: LoaderOptions): Loader {
  return place.kind === "sqlite"
    ? openSqlite(place.file, options)
    : openPostgres(place.url, options);
}

function openSqlite(file: string, { now, isFresh = false }: LoaderOptions): Loader {
  const connection = isFresh ? openFresh(file) : openConnection(file);
  const executor = createSqliteExecutor(connection);
  const insertions = new Map<string, Statement>();
  const run = async (text: string) => connection.run(text);
  const load: LoadTransaction = {
    ...createSteps(createSqliteRunner(connection, now), { ...executor, tell: () => {} }),
    ...createSqliteSeal(connection),
    hasTable: async (name) => hasTable(connection, name),
    async insert(table, rows) {
      const { name, columns } = table;
      let insertion = insertions.get(name);
      if (!insertion) {
        const values = columns.map(() => "?").join(", ");
        insertion = connection.prepare(`INSERT INTO ${name} VALUES (${values})`);
        insertions.set(name, insertion);
      }
      for (const [index, row] of rows.entries()) {
        const cells = readCells(table, row, index);
        try {
          insertion.run(...cells);
        } catch (failure) {
          throw explainRow(table, index, failure);
        }
      }
    },
  };
  return {
    async transact(work) {
      try {
        await run("BEGIN IMMEDIATE");
        const result = await work(load);
        await run("COMMIT");
        return result;
      } catch (failure) {
        if (connection.inTransaction) await run("ROLLBACK").catch(() => undefined);
        throw explainSqlite(file, failure);
      }
    },
    async close() {
      for (const insertion of insertions.values()) insertion.finalize();
      connection.close();
      if (isFresh) syncFile(file);
    },
  };
}

function openFresh(file: string): Connection {
  const connection = new Connection(file, { create: true, strict: true });
  // Bun's SQLite is defensive, and ignores OFF.
  const pragmas = ["journal_mode = MEMORY", "synchronous = OFF", "cache_size = -65536"];
  for (const pragma of [...pragmas, "foreign_keys = ON"]) connection.run(`PRAGMA ${pragma}`);
  return connection;
}

function syncFile(file: string): void {
  const descriptor = openSync(file, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function openPostgres(url: string, { now }: LoaderOptions): Loader {
  const pool = new Bun.SQL({ url, max: 1, connectionTimeout: CONNECT_TIMEOUT_S });
  return {
    async transact(work) {
      try {
        return await pool.begin((runner) => {
          const executor = executeOn(runner);
          const steps = createSteps(createPostgresRunner(runner, now), {
            ...executor,
            tell: () => {},
          });
          return work({
            ...steps,
            ...createPostgresSeal(runner),
            async drop() {
              await requireOwnTables(runner, url);
              await steps.drop();
              await runner.unsafe("DROP FUNCTION IF EXISTS wadi_moved()");
            },
            async hasTable(name) {
              const [found] = await runner.unsafe(
                `SELECT to_regclass('${name}') IS NOT NULL AS is_there`,
              );
              return found.is_there === true;
            },
            insert: (table, rows) => insertPostgres(runner, table, rows),
          });
        });
      } catch (failure) {
        throw explainPostgres(url, failure);
      }
    },
    close: () => pool.close(),
  };
}

function createSteps(runner: MigrationRunner, tx: Tx) {
  const { run } = runner;
  return {
    tx,
    run,
    async create(applied: readonly Migration[]) {
      await migrate(applied, runner);
      const tables = await describeTables(applied);
      // Migrations write first rows, which the loaded ones replace.
      const deletions = tables.map(({ name }) => `DELETE FROM ${name}`);
      // Together, since PostgreSQL answers each text by itself.
      await run(deletions.toReversed().join("; "));
      return tables;
    },
    bringForward: () => migrate(migrations, runner),
    async drop() {
      const names = await listOwnNames();
      await run(names.map((name) => `DROP TABLE IF EXISTS ${name}`).join("; "));
    },
  };
}

/** Inserts a batch at once, and after a failure row by row, to find the one that was refused. */
async function insertPostgres(
  runner: TransactionSQL,
  table: TransferTable,
  rows: readonly string[],
): Promise<void> {
  for (const [index, row] of rows.entries()) readCells(table, row, index);
  const insert = (some: readonly string[]) =>
    runner.unsafe(writeInsertion(table), [`[${some.join(",")}]`]);
  try {
    await runner.savepoint(() => insert(rows));
  } catch (failure) {
    if (explainRow(table, 0, failure) === failure) throw failure;
    for (const [index, row] of rows.entries()) {
      await insert([row]).catch((refusal: unknown) => {
        throw explainRow(table, index, refusal);
      });
    }
    throw failure;
  }
}

/** PostgreSQL takes the values out of one text of JSON. */
function writeInsertion({ name, columns, texts }: TransferTable): string {
  const values = columns.map((column, at) =>
    texts.has(column) ? `v ->> ${at}` : `(v ->> ${at})::numeric::bigint`,
  );
  return `INSERT INTO ${name} (${columns.join(", ")})
    SELECT ${values.join(", ")} FROM jsonb_array_elements($1::text::jsonb) AS given (v)`;
}
