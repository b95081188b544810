// Tests that nothing stays of restores and moves that were killed, refused or failed.
import { beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { moveData, restoreBackup } from "../../src/backup/index.ts";
import { lockPlace, openDatabase, type TransferPlace } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { failureOf } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { backUp, clock, fill, makeDirectory, placeFile } from "./fixture.ts";

let source: TransferPlace & { kind: "sqlite" };
let file: string;

beforeAll(async () => {
  source = placeFile();
  await fill(source);
  file = join(makeDirectory(), "one.backup");
  await backUp(source, file);
}, 120_000);

const restore = (place: TransferPlace, more = {}) =>
  restoreBackup({
    ...{ file, place, placeName: "the target", replaces: true, clock, ids: createSeededIds(7) },
    ...more,
  });
const move = (from: TransferPlace, target: TransferPlace) =>
  moveData({
    ...{ source: from, sourceName: "the source", target, targetName: "the target", clock },
    ...{ replaces: true, say() {}, beforeEnd() {} },
  });
const open = (place: TransferPlace, exclusive: boolean) =>
  openDatabase({ place, stores, clock, exclusive, onFailure() {} });

const DRAFTS = ["restore", "restore-journal", "move", "move-journal"];
const leaveDrafts = (file: string) => {
  for (const end of DRAFTS) writeFileSync(`${file}.${end}`, "half of a database");
};
const findDrafts = (file: string) => DRAFTS.filter((end) => existsSync(`${file}.${end}`));

test("a start removes the drafts of killed restores and moves, a command does not", async () => {
  const place = placeFile();
  await restore(place);
  leaveDrafts(place.file);
  await (await open(place, false)).close();
  expect(findDrafts(place.file)).toEqual(DRAFTS);
  await (await open(place, true)).close();
  expect(findDrafts(place.file)).toEqual([]);
});

test("a start removes the drafts beside the target of a link", async () => {
  const place = placeFile();
  await restore(place);
  leaveDrafts(place.file);
  const link = placeFile();
  symlinkSync(place.file, link.file);
  await (await open(link, true)).close();
  expect(findDrafts(place.file)).toEqual([]);
});

test("a start beside a restore is refused, and leaves its draft", async () => {
  const place = placeFile();
  await restore(place);
  const lock = await lockPlace(place);
  leaveDrafts(place.file);
  expect((await failureOf(open(place, true))).message).toStartWith("another wadi process ");
  expect(findDrafts(place.file)).toEqual(DRAFTS);
  await lock.release();
});

test("a restore removes the drafts of others, too", async () => {
  const place = placeFile();
  leaveDrafts(place.file);
  await restore(place);
  expect(findDrafts(place.file)).toEqual([]);
});

const stopAfter = (rows: number) => (done: number) => {
  if (done >= rows) throw new Error("the disk is full");
};

test("a failed restore leaves no new directory", async () => {
  const home = makeDirectory();
  const place = placeFile(join(home, "new", "deep"));
  const failed = restore(place, { onProgress: stopAfter(50) });
  expect((await failureOf(failed)).message).toBe("the disk is full");
  expect(readdirSync(home)).toEqual([]);
});

test("a refused move leaves no new directory, and nothing in one that was there", async () => {
  const moved = placeFile();
  await restore(moved);
  await move(moved, placeFile());
  const home = makeDirectory();
  const there = join(home, "there");
  const locked = join(home, "locked");
  for (const directory of [there, locked]) mkdirSync(directory);
  writeFileSync(join(locked, "serve.lock"), "");
  for (const directory of [join(home, "new"), there, locked]) {
    const refused = move(moved, placeFile(directory));
    expect((await failureOf(refused)).message).toInclude("was moved to the target already");
  }
  expect(readdirSync(home).sort()).toEqual(["locked", "there"]);
  expect(readdirSync(there)).toEqual([]);
  expect(readdirSync(locked)).toEqual(["serve.lock"]);
});

test("a failed restore keeps what others have put into its directory", async () => {
  const home = makeDirectory();
  const place = placeFile(join(home, "new"));
  const onProgress = () => {
    writeFileSync(join(dirname(place.file), "note"), "");
    throw new Error("the disk is full");
  };
  await failureOf(restore(place, { onProgress }));
  expect(readdirSync(dirname(place.file))).toEqual(["note"]);
  await restore(place);
  expect(readdirSync(dirname(place.file)).sort()).toEqual(["note", "serve.lock", "wadi.db"]);
});
