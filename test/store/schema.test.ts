// schema.sql creates in a new database what the migrations create one after the other.
import { Database as Connection } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { createSqliteRunner, migrate } from "../../src/database/migrate.ts";
import { released } from "../../src/database/migrations/released.ts";

const FILE = new URL("../../src/database/schema.sql", import.meta.url);
const HEAD = `-- The tables of a new SQLite database: the sum of all migrations.
-- UPDATE_SCHEMA=1 bun test test/store/schema.test.ts writes this file.`;

const runner = (connection: Connection) => createSqliteRunner(connection, 7);

/** Applies each migration by its own statements. */
async function applyEach(): Promise<Connection> {
  const connection = new Connection(":memory:");
  await migrate(released, { ...runner(connection), createTables: undefined });
  return connection;
}

type Row = Record<string, unknown>;
const HISTORY = ["wadi_schema", "wadi_expansions"];

function listObjects(connection: Connection): Row[] {
  return connection
    .query<Row, []>("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")
    .all();
}

function listTables(connection: Connection): Row[] {
  return listObjects(connection).filter(
    ({ type, name }) => type === "table" && !HISTORY.includes(String(name)),
  );
}

/** All rows of a table; the random id of an installation counts as any text of its length. */
function listRows(connection: Connection, { name }: Row): Row[] {
  const rows = connection.query<Row, []>(`SELECT * FROM ${name}`).all();
  if (name !== "wadi_installation") return rows;
  return rows.map((row) => ({ ...row, id: String(row.id).length }));
}

/** Statements that give a new database its first rows. */
function writeRows(connection: Connection): string[] {
  const made = released.flatMap((one) => one.statements(runner(connection).dialect));
  return listTables(connection).flatMap(({ name }) => {
    // Each installation has a random id.
    if (name === "wadi_installation") return made.filter((one) => one.includes(`INTO ${name}`));
    const { columnNames } = connection.query(`SELECT * FROM ${name}`);
    const values = columnNames.map((column) => `quote(${column})`).join(" || ', ' || ");
    return connection
      .query<{ row: string }, []>(`SELECT ${values} AS row FROM ${name}`)
      .all()
      .map(({ row }) => `INSERT INTO ${name} (${columnNames.join(", ")}) VALUES (${row})`);
  });
}

function writeStatements(connection: Connection): string {
  const objects = listObjects(connection)
    .filter(({ sql, name }) => sql !== null && !HISTORY.includes(String(name)))
    .map(({ sql }) => sql);
  return `${HEAD}\n\n${[...objects, ...writeRows(connection)].join(";\n\n")};\n`;
}

test("schema.sql is what the migrations make", async () => {
  using connection = await applyEach();
  const statements = writeStatements(connection);
  if (process.env.UPDATE_SCHEMA) await writeFile(FILE, statements);
  expect(await readFile(FILE, "utf8"), "write it with UPDATE_SCHEMA=1").toBe(statements);
});

test("a new database has the same tables, indexes and rows as one that was migrated", async () => {
  using each = await applyEach();
  using created = new Connection(":memory:");
  await migrate(released, runner(created));
  expect(listObjects(created)).toEqual(listObjects(each));
  const tables = listTables(each);
  expect(tables.length).toBeGreaterThan(40);
  for (const table of [...tables, ...HISTORY.map((name) => ({ name }))]) {
    expect([table.name, listRows(created, table)]).toEqual([table.name, listRows(each, table)]);
  }
});
