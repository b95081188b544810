// Tests the backup that is made before an existing database is migrated.
import { Database as Connection } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { backUpBeforeMigration, restoreBackup } from "../../src/backup/index.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { startApp } from "../support/app.ts";
import { failureOf } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { clock, makeDirectory, placeFile, readAll } from "./fixture.ts";

const FIXTURE = join(import.meta.dir, "../store/fixtures/wadi-0.1.0.db.zst");

/** A database as 0.1.0 has left it. */
function unpack() {
  const place = placeFile();
  writeFileSync(place.file, Bun.zstdDecompressSync(readFileSync(FIXTURE)));
  return place;
}

const findBackups = (data: string) => {
  const folder = join(data, "backups");
  return existsSync(folder) ? readdirSync(folder) : [];
};

test("a start on an older database backs it up first, once, and the backup restores", async () => {
  const place = unpack();
  const before = await readAll(place);
  for (let start = 0; start < 2; start++) await (await startApp({ place })).stop();
  const data = dirname(place.file);
  const [name, ...others] = findBackups(data);
  expect(name).toMatch(/^before-schema-\d+-\d{8}T\d{6}Z\.backup$/);
  expect(others).toEqual([]);
  const copy = placeFile();
  const manifest = await restoreBackup({
    ...{ file: join(data, "backups", name!), place: copy, placeName: "a copy" },
    ...{ replaces: false, clock, ids: createSeededIds() },
  });
  expect(manifest.schema.at(-1)).toBe(18);
  const after = await readAll(copy);
  for (const [table, rows] of Object.entries(before)) {
    expect([table, after[table]?.length]).toEqual([table, rows.length]);
  }
});

test("a new database has no backup", async () => {
  const place = placeFile();
  await (await startApp({ place })).stop();
  expect(findBackups(dirname(place.file))).toEqual([]);
});

test("without a backup the database stays as it is", async () => {
  const place = unpack();
  const before = await readAll(place);
  // A file in the place of the folder.
  writeFileSync(join(dirname(place.file), "backups"), "");
  await expect(startApp({ place })).rejects.toThrow(
    "the database is not migrated without a backup: ",
  );
  expect(await readAll(place)).toEqual(before);
});

test("starts whose migration fails leave one backup, that of the last one", async () => {
  const place = placeFile();
  await (await startApp({ place })).stop();
  const { number } = migrations.at(-1)!;
  forget(place.file, number);
  const data = dirname(place.file);
  const foreign = `before-schema-${number}-00000000-20200101T000000Z.backup`;
  mkdirSync(join(data, "backups"));
  writeFileSync(join(data, "backups", foreign), "of another installation");
  for (let start = 0; start < 3; start++) {
    const start_ms = Date.UTC(2026, 10, 20, 12, 0, start);
    const { message } = await failureOf(startApp({ place, start_ms }));
    expect(message).toMatch(/already exists|duplicate column/);
  }
  expect(findBackups(data).sort()).toEqual([
    foreign,
    expect.stringMatching(/^before-schema-\d+-[0-9a-f]{8}-20261120T120002Z\.backup$/),
  ]);
});

test("so do those of a database that has no id yet", async () => {
  const place = unpack();
  using connection = new Connection(place.file);
  connection.run("ALTER TABLE usage_sums ADD COLUMN estimated_cost INTEGER");
  for (let start = 0; start < 3; start++) {
    const start_ms = Date.UTC(2026, 10, 20, 12, 0, start);
    expect((await failureOf(startApp({ place, start_ms }))).message).toContain("duplicate column");
  }
  expect(findBackups(dirname(place.file))).toEqual([
    expect.stringMatching(/^before-schema-\d+-20261120T120002Z\.backup$/),
  ]);
});

describe("the backup before a migration", () => {
  const number = 19;
  const older = `before-schema-${number}-20200101T000000Z.backup`;

  /** Backs up a place beside files of its folder; what it says, and what is there then. */
  async function backUpBeside(
    place: ReturnType<typeof placeFile>,
    put: (folder: string) => void,
    to = "",
  ) {
    const data = dirname(place.file);
    const folder = to === "" ? join(data, "backups") : to;
    mkdirSync(folder, { recursive: true });
    put(folder);
    const said: string[] = [];
    const { backup, server } = defaultSettings();
    const settings = { backup: { ...backup, to }, server: { ...server, data } };
    const say = (line: string) => void said.push(line);
    const options = { settings, place, program: "1.2.3", clock, say };
    await backUpBeforeMigration(options)([{ number: 7 }, { number }]);
    return { said, names: readdirSync(folder).sort() };
  }
  const MADE = expect.stringMatching(/^before-schema-19-\d{8}T\d{6}Z\.backup$/);

  test("keeps those of others in a shared destination, while it has no id", async () => {
    const put = (folder: string) => writeFileSync(join(folder, older), "of another");
    const { names } = await backUpBeside(unpack(), put, makeDirectory());
    expect(names).toEqual([older, MADE]);
  });

  test("leaves a draft that another process writes", async () => {
    const draft = `${older}.1.part`;
    const { names } = await backUpBeside(unpack(), (folder) => {
      writeFileSync(join(folder, draft), "half");
      writeFileSync(join(folder, older), "whole");
    });
    expect(names).toEqual([draft, MADE]);
  });

  test("is made where an older one cannot be removed, and says so", async () => {
    const { names, said } = await backUpBeside(unpack(), (folder) =>
      mkdirSync(join(folder, older)),
    );
    expect(names).toEqual([older, MADE]);
    expect(said[0]).toStartWith("an older backup is not removed: ");
    expect(said[1]).toContain("is backed up to");
  });

  test("removes none where another process has migrated meanwhile", async () => {
    const place = placeFile();
    await (await startApp({ place })).stop();
    const before = (await backUpBeside(place, () => {})).names;
    await clock.advance(1_000);
    const { names } = await backUpBeside(place, () => {});
    expect(names).toEqual([...before, expect.any(String)]);
  });
});

/** Makes the next start apply a migration again, which fails since its changes are there. */
function forget(file: string, number: number): void {
  using connection = new Connection(file);
  for (const table of ["wadi_schema", "wadi_expansions"]) {
    connection.run(`DELETE FROM ${table} WHERE number = ?`, [number]);
  }
}
