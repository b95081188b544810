// Tests the files of backups.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBackupFile } from "../../src/backup/index.ts";
import { makeDirectory } from "./fixture.ts";

test("a backup has its name once it is whole, and only its owner reads it", async () => {
  const directory = makeDirectory();
  const file = join(directory, "one.backup");
  const made = await createBackupFile(file);
  await made.write(Buffer.from("whole"));
  expect(readdirSync(directory)).toEqual([`one.backup.${process.pid}.part`]);
  await made.finish();
  expect(readdirSync(directory)).toEqual(["one.backup"]);
  expect(readFileSync(file, "utf8")).toBe("whole");
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("another process's draft of the same name is left alone, and the first to end has it", async () => {
  const directory = makeDirectory();
  const file = join(directory, "one.backup");
  const draft = `${file}.1.part`;
  writeFileSync(draft, "of another process");
  const made = await createBackupFile(file);
  writeFileSync(file, "the other's");
  await expect(made.finish()).rejects.toThrow("no backup replaces a file");
  await made.abandon();
  expect(readFileSync(draft, "utf8")).toBe("of another process");
  expect(readFileSync(file, "utf8")).toBe("the other's");
});
