// Tests how a connection notices the writes of another.
import { Database as Connection } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection, watchVersion } from "../../src/database/sqlite.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-version-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a file has a log that readers do not wait for, and every commit reaches the disk", () => {
  const connection = openConnection(join(root, "settings.db"));
  const read = (name: string) => connection.prepare(`PRAGMA ${name}`).values()[0]?.[0];
  // A synchronous level of 2 is FULL.
  expect([read("journal_mode"), read("synchronous")]).toEqual(["wal", 2]);
  connection.close();
});

test("a row without the row that it refers to is refused", () => {
  const connection = openConnection(join(root, "references.db"));
  connection.run("CREATE TABLE owners (id TEXT PRIMARY KEY) STRICT");
  connection.run("CREATE TABLE owned (owner TEXT REFERENCES owners (id)) STRICT");
  expect(() => connection.run("INSERT INTO owned VALUES ('nobody')")).toThrow("FOREIGN KEY");
  connection.close();
});

test("a damaged or hostile file is read with care", () => {
  const connection = openConnection(join(root, "care.db"));
  const read = (name: string) => connection.prepare(`PRAGMA ${name}`).values()[0]?.[0];
  expect([read("cell_size_check"), read("trusted_schema")]).toEqual([1, 0]);
  // What it sorts lies in no file that others may read.
  expect(read("temp_store")).toBe(2);
  connection.close();
});

test("the first poll and those after another's commit report a change; a failing poll does not", () => {
  const file = join(root, "a.db");
  const connection = openConnection(file);
  const hasForeign = watchVersion(connection);
  expect([hasForeign(), hasForeign()]).toEqual([true, false]);
  connection.run("CREATE TABLE a (n INTEGER)");
  expect(hasForeign()).toBe(false);
  using other = new Connection(file);
  other.run("INSERT INTO a VALUES (1)");
  expect([hasForeign(), hasForeign()]).toEqual([true, false]);
  connection.close();
  expect(hasForeign()).toBe(false);
});
