import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection } from "../../src/database/sqlite.ts";
import { watchCommits } from "../../src/database/wal-index.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

const openTwo = () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-wal-index-"));
  undo.push(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "one.db");
  const open = () => {
    const connection = openConnection(file);
    undo.push(() => connection.close(true));
    return connection;
  };
  const writer = open();
  writer.run("CREATE TABLE one (a)");
  return { file, writer, hasCommits: watchCommits(open()) };
};

const commitElsewhere = (file: string) => {
  const script = `new (require("bun:sqlite").Database)(${JSON.stringify(file)}).run("INSERT INTO one VALUES (2)")`;
  expect(Bun.spawnSync([process.execPath, "-e", script]).exitCode).toBe(0);
};

describe("commits of other connections", () => {
  test("are told once each", () => {
    const { writer, hasCommits } = openTwo();
    expect(hasCommits()).toBe(true);
    expect(hasCommits()).toBe(false);
    writer.run("INSERT INTO one VALUES (1)");
    expect(hasCommits()).toBe(true);
    expect(hasCommits()).toBe(false);
  });

  test("are told when another process has made them", () => {
    const { file, hasCommits } = openTwo();
    hasCommits();
    commitElsewhere(file);
    expect(hasCommits()).toBe(true);
    expect(hasCommits()).toBe(false);
  });

  test("are told after a checkpoint has emptied the log", () => {
    const { writer, hasCommits } = openTwo();
    for (let n = 0; n < 3; n++) {
      writer.run("PRAGMA wal_checkpoint(TRUNCATE)");
      hasCommits();
      writer.run("UPDATE one SET a = 3");
      writer.run("INSERT INTO one VALUES (1)");
      expect(hasCommits()).toBe(true);
    }
  });

  test("are not told when they were rolled back", () => {
    const { writer, hasCommits } = openTwo();
    hasCommits();
    writer.run("BEGIN IMMEDIATE");
    writer.run("INSERT INTO one VALUES (1)");
    writer.run("ROLLBACK");
    expect(hasCommits()).toBe(false);
  });
});
