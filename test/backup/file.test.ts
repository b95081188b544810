// Tests the files of backups.
import { expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import * as files from "node:fs/promises";
import { join } from "node:path";
import { createBackupFile } from "../../src/backup/index.ts";
import { failureOf } from "../support/database.ts";
import { findDeadPid, makeDirectory } from "./fixture.ts";

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

test("a backup is on the disk before it has its name", async () => {
  const { link, open } = files;
  const done: string[] = [];
  using _ = spyOn(files, "open").mockImplementation(async (...asked) => {
    const handle = await open(...asked);
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      await sync();
      done.push("sync");
    };
    return handle;
  });
  using __ = spyOn(files, "link").mockImplementation(async (...names) => {
    done.push("link");
    await link(...names);
  });
  const made = await createBackupFile(join(makeDirectory(), "one.backup"));
  await made.write(Buffer.from("whole"));
  await made.finish();
  expect(done).toEqual(["sync", "link"]);
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

test("drafts of one file are removed where their process has ended", async () => {
  const directory = makeDirectory();
  const dead = await findDeadPid();
  const others = ["one.backup.1.part", `two.backup.${dead}.part`];
  for (const name of [`one.backup.${dead}.part`, `one.backup.${process.pid}.part`, ...others]) {
    writeFileSync(join(directory, name), "");
  }
  const made = await createBackupFile(join(directory, "one.backup"));
  await made.finish();
  expect(readdirSync(directory).sort()).toEqual(["one.backup", ...others]);
});

test("the draft of another user's process is left alone", async () => {
  const directory = makeDirectory();
  const draft = `one.backup.${await findDeadPid()}.part`;
  writeFileSync(join(directory, draft), "");
  using kill = spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  });
  await (await createBackupFile(join(directory, "one.backup"))).finish();
  expect(kill).toHaveBeenCalled();
  expect(readdirSync(directory).sort()).toEqual(["one.backup", draft]);
});

test("a name of any length that the file system takes has a draft", async () => {
  const directory = makeDirectory();
  for (const name of ["x".repeat(255), "é".repeat(127)]) {
    const made = await createBackupFile(join(directory, name));
    const draft = `${name.slice(0, 80)}.${process.pid}.part`;
    expect(readdirSync(directory)).toContain(draft);
    await made.finish();
    expect(readdirSync(directory)).toContain(name);
    expect(readdirSync(directory)).not.toContain(draft);
  }
});

test("a failure names the file, the code and the cause", async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, "file"), "");
  const refusal = (file: string) => failureOf(createBackupFile(file));
  const rows = [
    ["none/one.backup", "ENOENT", "its directory does not exist"],
    ["file/one.backup", "ENOTDIR", "a part of its path is no directory"],
    ["x".repeat(256), "ENAMETOOLONG", "the name is too long"],
  ] as const;
  for (const [name, code, cause] of rows) {
    const file = join(directory, name);
    expect(await refusal(file)).toMatchObject({
      ...{ name: "BackupError", message: `${file} cannot be written (${code}): ${cause}` },
    });
  }
  const file = join(directory, "late");
  const late = await createBackupFile(file);
  using _ = spyOn(files, "link").mockRejectedValue(Object.assign(new Error("x"), { code: "EIO" }));
  expect((await failureOf(late.finish())).message).toBe(
    `${file} cannot be written (EIO): the disk fails to read or write`,
  );
  await late.abandon();
  expect(readdirSync(directory)).toEqual(["file"]);
});

test("a link that leads nowhere is not taken for a free name", async () => {
  const file = join(makeDirectory(), "link");
  symlinkSync("nowhere", file);
  expect((await failureOf(createBackupFile(file))).message).toBe(
    `${file} exists, and no backup replaces a file`,
  );
});

test.each(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"])(
  "a file system without hard links (%s) gets whole backups, and replaces none",
  async (code) => {
    const fail = async () => {
      throw Object.assign(new Error(code), { code });
    };
    using _ = spyOn(files, "link").mockImplementation(fail);
    const directory = makeDirectory();
    const file = join(directory, "one.backup");
    const [first, second] = [await createBackupFile(file), join(directory, "two.backup")];
    await first.write(Buffer.from("whole"));
    await first.finish();
    expect(readdirSync(directory)).toEqual(["one.backup"]);
    expect(readFileSync(file, "utf8")).toBe("whole");
    const late = await createBackupFile(second);
    writeFileSync(second, "the other's");
    await expect(late.finish()).rejects.toThrow("no backup replaces a file");
    await late.abandon();
    expect(readdirSync(directory).sort()).toEqual(["one.backup", "two.backup"]);
    expect(readFileSync(second, "utf8")).toBe("the other's");
  },
);

test("a name that could not be given to a backup is free again", async () => {
  const fail = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  const directory = makeDirectory();
  const backup = await createBackupFile(join(directory, "one.backup"));
  using _ = spyOn(files, "link").mockImplementation(fail("EPERM"));
  using rename = spyOn(files, "rename").mockImplementation(fail("EIO"));
  await expect(backup.finish()).rejects.toThrow("the disk fails to read or write");
  expect(rename).toHaveBeenCalledTimes(1);
  await backup.abandon();
  expect(readdirSync(directory)).toEqual([]);
});
