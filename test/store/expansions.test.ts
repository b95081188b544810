// Migrations that only expand: the version before goes on with the database. A database of 0.1.0,
// made by its own code, is kept beside this file.
import { Database as Connection } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { WRITER } from "../../src/app.ts";
import { type OpenOptions, openDatabase } from "../../src/database/index.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { stores } from "../../src/stores.ts";
import { startApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";

const FIXTURES = join(import.meta.dir, "fixtures");
/** Newest number that 0.1.0 knows; it compares only this number. */
const NUMBER_0_1_0 = 18;
const CREATED_MS = Date.parse("2026-11-25T12:05:00Z");

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** A copy of the database of 0.1.0 and of its secrets key. */
function unpack() {
  const directory = mkdtempSync(join(tmpdir(), "wadi-0.1.0-"));
  directories.push(directory);
  const read = (name: string) => readFileSync(join(FIXTURES, `wadi-0.1.0.${name}`));
  const file = join(directory, "wadi.db");
  const secretsKeyFile = join(directory, "secrets.key");
  writeFileSync(file, Bun.zstdDecompressSync(read("db.zst")));
  writeFileSync(secretsKeyFile, read("secrets.key"), { mode: 0o600 });
  return { file, secretsKeyFile };
}

const open = (file: string, options: Partial<OpenOptions> = {}) =>
  openDatabase({
    ...{ place: { kind: "sqlite", file }, stores, clock: createManualClock() },
    onFailure(failure) {
      throw failure;
    },
    ...options,
  });

const expansion: Migration = {
  number: 9_001,
  name: "trial",
  kind: "expansion",
  statements: ({ text, integer }) => [
    `CREATE TABLE trials (id ${text} PRIMARY KEY)`,
    `ALTER TABLE agents ADD COLUMN trials ${integer} NOT NULL DEFAULT 0`,
  ],
};
const contraction: Migration = { number: 9_002, name: "later", statements: () => [] };

const known = migrations.filter(({ number }) => number <= NUMBER_0_1_0);

function readNumbers(file: string) {
  using connection = new Connection(file, { readonly: true });
  const read = (table: string) =>
    connection.query(`SELECT number FROM ${table} ORDER BY number`).values().flat();
  return { schema: read("wadi_schema"), expansions: read("wadi_expansions") };
}

describe("a database of 0.1.0", () => {
  test("serves its keys, runs, triggers and webhooks after the upgrade", async () => {
    const { file, secretsKeyFile } = unpack();
    const place = { kind: "sqlite", file, writer: WRITER } as const;
    const app = await startApp({ place, secretsKeyFile, start_ms: CREATED_MS, seed: 2 });
    const list = async (path: string) =>
      ((await (await app.get(path)).json()) as { data: unknown[] }).data;
    expect((await app.chat("Hello")).status).toBe(201);
    expect(await list("/v1/agents")).toMatchObject([{ slug: "clerk" }]);
    expect(await list("/v1/runs")).toHaveLength(2);
    expect(await list("/v1/triggers")).toMatchObject([{ name: "nightly", status: "active" }]);
    expect(await list("/v1/webhooks")).toHaveLength(1);
    await app.stop();
  });

  test("is expanded without a higher number, so that 0.1.0 opens it afterwards", async () => {
    const { file } = unpack();
    const next = [...migrations, expansion];
    await (await open(file, { migrations: next })).close();
    const { schema, expansions } = readNumbers(file);
    expect(Math.max(...(schema as number[]))).toBe(
      Math.max(...migrations.filter(({ kind }) => !kind).map(({ number }) => number)),
    );
    expect(expansions).toContain(9_001);
    await (await open(file, { migrations: known })).close();
    // Applied once.
    await (await open(file, { migrations: next })).close();
  });

  test("is refused by 0.1.0 once something was contracted", async () => {
    const { file } = unpack();
    await (await open(file, { migrations: [...migrations, contraction] })).close();
    await expect(open(file, { migrations: known })).rejects.toThrow("newer than this program");
  });
});

test("a backup can be made before an existing database is changed, and only then", async () => {
  const { file } = unpack();
  const asked: number[][] = [];
  const options = (more: Migration[]): Partial<OpenOptions> => ({
    migrations: [...known, ...more],
    async beforeMigration(missing) {
      asked.push(missing.map(({ number }) => number));
      expect(asked.length > 1 ? [] : readTables(file)).not.toContain("trials");
    },
  });
  await (await open(file, options([]))).close();
  expect(asked).toEqual([]);
  await (await open(file, options([expansion]))).close();
  await (await open(file, options([expansion]))).close();
  await (await open(file, options([expansion, contraction]))).close();
  expect(asked).toEqual([[9_001], [9_002]]);
  const fresh = join(dirname(file), "fresh", "wadi.db");
  await (await open(fresh, options([expansion]))).close();
  expect(asked).toHaveLength(2);
});

function readTables(file: string): string[] {
  using connection = new Connection(file, { readonly: true });
  return connection.query("SELECT name FROM sqlite_schema").values().flat() as string[];
}

test("beside a running server a database is expanded, and never contracted", async () => {
  const { file } = unpack();
  const running = await open(file, { migrations: known, exclusive: true });
  const beside = { exclusive: "later" } as const;
  const refused = open(file, { ...beside, migrations: [...known, contraction] });
  await expect(refused).rejects.toThrow("stop each server of an older version");
  const next = await open(file, { ...beside, migrations: [...known, expansion] });
  await expect(next.lock()).rejects.toThrow("another wadi process");
  await running.close();
  await next.lock();
  await expect(open(file, { exclusive: true })).rejects.toThrow("another wadi process");
  await next.close();
  await (await open(file, { exclusive: true })).close();
});

test("beside a running server nothing is backed up for a contraction, which is refused", async () => {
  const { file } = unpack();
  const running = await open(file, { migrations: known, exclusive: true });
  const asked: number[][] = [];
  const beside: Partial<OpenOptions> = {
    exclusive: "later",
    async beforeMigration(missing) {
      asked.push(missing.map(({ number }) => number));
    },
  };
  const refused = open(file, { ...beside, migrations: [...known, expansion, contraction] });
  await expect(refused).rejects.toThrow("stop each server of an older version");
  expect(asked).toEqual([]);
  await (await open(file, { ...beside, migrations: [...known, expansion] })).close();
  expect(asked).toEqual([[9_001]]);
  await running.close();
});

describe("a removal that is compatible from an expansion", () => {
  const removal: Migration = {
    ...{ number: 9_002, name: "removal", compatible_from: 9_001 },
    statements: () => ["ALTER TABLE agents DROP COLUMN trials"],
  };

  test("lets programs open the database that know the expansion, and none older", async () => {
    const { file } = unpack();
    await (await open(file, { migrations: [...migrations, expansion, removal] })).close();
    expect(Math.max(...(readNumbers(file).schema as number[]))).toBe(9_001);
    await (await open(file, { migrations: [...migrations, expansion] })).close();
    await (await open(file, { migrations: [...migrations, expansion, removal] })).close();
    await expect(open(file)).rejects.toThrow("newer than this program");
  });
});
