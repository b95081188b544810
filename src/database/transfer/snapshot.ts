// Reads a whole database as it is at one moment, in batches of rows as JSON; it changes nothing.
import { Database as Connection } from "bun:sqlite";
import type { SQL } from "bun";
import { yieldToEventLoop } from "../../platform/clock.ts";
import { DatabaseUnusable, explainPostgres, explainSqlite } from "../errors.ts";
import { findLoss } from "../loss.ts";
import {
  type AppliedMigrations,
  listPostgresMigrations,
  listSqliteMigrations,
} from "../migrate.ts";
import { openPool } from "../postgres-connections.ts";
import { hasTable } from "../sqlite.ts";
import { stampPostgres, stampSqlite } from "./seal.ts";
import { requireOpenablePostgres, requireOpenableSqlite, type TransferPlace } from "./state.ts";
import { describeTables, MOVE_TABLE, pickMigrations, type TransferTable } from "./tables.ts";

export type KeyValue = string | number;

export interface Snapshot {
  /** Numbers of the applied migrations. */
  schema: readonly number[];
  tables: readonly TransferTable[];
  /** Reads a text that is another one after every change of the data. */
  readStamp(): Promise<string>;
  /** Counts the rows of all tables. */
  countAll(): Promise<number>;
  /** Yields batches of rows, each row a JSON array, in the order of the key behind `after`. */
  scan(table: TransferTable, after?: readonly KeyValue[]): AsyncGenerator<readonly string[]>;
  close(): Promise<void>;
}

/** Size of a batch: long enough for speed, short enough for the event loop of a server. */
const BATCH_BYTES = 256 * 1024;
const BATCH_ROWS_MAX = 1_000;
/** Rows of one fetch from PostgreSQL; the memory of a batch is bounded by them too. */
const FETCH_ROWS = 64;
const BUSY_TIMEOUT_MS = 5_000;
const ABSENT = "there is no data of Wadi there: name its directory or its database";

export interface SnapshotOptions {
  /** Reads the target of a move that is not whole yet. */
  isUnfinished?: boolean;
}

/** Opens a snapshot beside a running server, too. Throws a DatabaseUnusable. */
export async function openSnapshot(
  place: TransferPlace,
  { isUnfinished = false }: SnapshotOptions = {},
): Promise<Snapshot> {
  return place.kind === "sqlite"
    ? openSqlite(place.file, isUnfinished)
    : openPostgres(place.url, isUnfinished);
}

/** Lists the numbers of migrations and expansions in order. */
function numberMigrations({ schema, expansions }: AppliedMigrations): number[] {
  return [...schema, ...expansions].toSorted((a, b) => a - b);
}

async function openSqlite(file: string, isUnfinished: boolean): Promise<Snapshot> {
  let connection: Connection | undefined;
  try {
    const { loss } = findLoss(file);
    if (loss !== null) throw new DatabaseUnusable(loss);
    connection = new Connection(file, { create: false, readwrite: true, strict: true });
    const own = connection;
    own.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    own.run("PRAGMA query_only = ON");
    own.run("BEGIN");
    if (!isUnfinished && hasTable(own, MOVE_TABLE)) requireOpenableSqlite(own, file);
    const applied = listSqliteMigrations(own);
    if (!applied) throw new DatabaseUnusable(ABSENT);
    const read = (text: string) =>
      own
        .query(text)
        .values()
        .map(([value]) => Number(value));
    const schema = numberMigrations(applied);
    const tables = await describeTables(pickMigrations(schema));
    return {
      schema,
      tables,
      readStamp: async () => stampSqlite(own),
      countAll: async () => read(writeCount(tables))[0]!,
      async *scan(table, after) {
        const row = `json_array(${table.columns.join(", ")})`;
        const text = writeSelect(table, row, after && `(${after.map(() => "?").join(", ")})`);
        const rows = own.prepare<{ row: string }, KeyValue[]>(text).iterate(...(after ?? []));
        yield* gather(rows, yieldToEventLoop);
      },
      async close() {
        own.run("ROLLBACK");
        own.close(true);
      },
    };
  } catch (failure) {
    connection?.close();
    throw (failure as NodeJS.ErrnoException).code === "SQLITE_CANTOPEN"
      ? new DatabaseUnusable(ABSENT)
      : explainSqlite(file, failure);
  }
}

async function openPostgres(url: string, isUnfinished: boolean): Promise<Snapshot> {
  let pool: SQL | undefined;
  try {
    pool = openPool(url, 1);
    const own = pool;
    const read = async (text: string) =>
      (await own.unsafe(text)).map((row: { n: unknown }) => Number(row.n)) as number[];
    await own.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const [found] = await own.unsafe(
      `SELECT to_regclass('${MOVE_TABLE}') IS NOT NULL AS is_unfinished`,
    );
    const applied = await listPostgresMigrations(own);
    if (!applied) throw new DatabaseUnusable(ABSENT);
    if (!isUnfinished && found.is_unfinished) await requireOpenablePostgres(own, url);
    const schema = numberMigrations(applied);
    const tables = await describeTables(pickMigrations(schema));
    return {
      schema,
      tables,
      readStamp: () => stampPostgres(own, tables),
      countAll: async () => (await read(writeCount(tables)))[0]!,
      async *scan(table, after) {
        const cells = table.columns.map((column) => writeCell(column, table.texts.has(column)));
        const row = `'[' || ${cells.join(" || ',' || ")} || ']'`;
        const select = writeSelect(table, row, after && `(${after.map(quote).join(", ")})`);
        await own.unsafe(`DECLARE rows_of_table NO SCROLL CURSOR FOR ${select}`);
        yield* gather(fetchAll(own), async () => {});
        await own.unsafe("CLOSE rows_of_table");
      },
      async close() {
        await own.unsafe("ROLLBACK");
        await own.close();
      },
    };
  } catch (failure) {
    await pool?.close();
    throw explainPostgres(url, failure);
  }
}

async function* fetchAll(pool: SQL): AsyncGenerator<{ row: string }> {
  for (;;) {
    const rows: { row: string }[] = await pool.unsafe(`FETCH ${FETCH_ROWS} FROM rows_of_table`);
    yield* rows;
    if (rows.length < FETCH_ROWS) return;
  }
}

/** Joins rows to batches, and lets others run between two of them. */
async function* gather(
  rows: Iterable<{ row: string }> | AsyncIterable<{ row: string }>,
  rest: () => Promise<void>,
): AsyncGenerator<readonly string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for await (const { row } of rows) {
    batch.push(row);
    bytes += row.length;
    if (bytes < BATCH_BYTES && batch.length < BATCH_ROWS_MAX) continue;
    yield batch;
    await rest();
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function writeSelect({ name, key }: TransferTable, row: string, after?: string): string {
  const keys = key.join(", ");
  const where = after === undefined ? "" : `WHERE (${keys}) > ${after}`;
  return `SELECT ${row} AS row FROM ${name} ${where} ORDER BY ${keys}`;
}

function writeCount(tables: readonly TransferTable[]): string {
  const counts = tables.map(({ name }) => `(SELECT COUNT(*) FROM ${name})`);
  return `SELECT ${counts.join(" + ")} AS n`;
}

/** Writes a value as SQLite's json_array does, so that both engines give the same text. */
function writeCell(column: string, isText: boolean): string {
  return `COALESCE(${isText ? `to_json(${column})` : column}::text, 'null')`;
}

function quote(value: KeyValue): string {
  return typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
