// The watch over a file: every way in which it becomes another one is told once.
import { afterAll, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileWatch, MISSING, readStamp } from "../../src/platform/file-watch.ts";
import { createManualClock } from "../support/clock.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-watch-"));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
/** A watched file with the text "a"; `look` lets so many looks pass and says how often it told. */
function watch(path = join(directory, `file-${++files}`)) {
  writeFileSync(path, "a");
  const clock = createManualClock();
  let told = 0;
  const onChange = () => void told++;
  const watching = new FileWatch({ path, stamp: readStamp(path), clock, onChange });
  watching.start();
  const look = async (times: number) => {
    await clock.advance(times * 1_000);
    return told;
  };
  return { path, clock, watching, look };
}

test("a file that stays as it is tells nothing", async () => {
  const { look } = watch();
  expect(await look(100)).toBe(0);
});

test("a change is told once, when it has stayed for one more look", async () => {
  const { path, look } = watch();
  writeFileSync(path, "bb");
  expect(await look(1)).toBe(0);
  expect(await look(1)).toBe(1);
  expect(await look(100)).toBe(1);
  writeFileSync(path, "ccc");
  expect(await look(2)).toBe(2);
});

test("what is still being written is waited for", async () => {
  const { path, look } = watch();
  for (let n = 0; n < 5; n++) {
    appendFileSync(path, "more");
    expect(await look(1)).toBe(0);
  }
  expect(await look(1)).toBe(1);
});

test("the same size is told by the time, and the same time by the inode", async () => {
  const { path, look } = watch();
  utimesSync(path, 1, 1);
  expect(await look(2)).toBe(1);
  writeFileSync(`${path}.new`, "b");
  utimesSync(`${path}.new`, 1, 1);
  renameSync(`${path}.new`, path);
  expect(await look(2)).toBe(2);
});

test("a link that is led elsewhere is told, and so is a link above the file", async () => {
  const versions = ["v1", "v2"].map((name) => join(directory, name));
  for (const version of versions) writeFileSync(version, version);
  const link = join(directory, "link");
  symlinkSync(versions[0]!, link);
  const clock = createManualClock();
  let told = 0;
  const onChange = () => void told++;
  new FileWatch({ path: link, stamp: readStamp(link), clock, onChange }).start();
  symlinkSync(versions[1]!, `${link}.new`);
  renameSync(`${link}.new`, link);
  await clock.advance(2_000);
  expect(told).toBe(1);
});

test("a file that vanishes is told once, and again when it is back", async () => {
  const { path, look } = watch();
  rmSync(path);
  expect(readStamp(path)).toBe(MISSING);
  expect(await look(10)).toBe(1);
  writeFileSync(path, "back");
  expect(await look(10)).toBe(2);
});

test("what was noted is not told", async () => {
  const { path, look, watching } = watch();
  writeFileSync(path, "bb");
  watching.note();
  expect(await look(10)).toBe(0);
});

test("it looks no more once it is stopped", async () => {
  const { path, look, watching, clock } = watch();
  watching.stop();
  writeFileSync(path, "bb");
  expect([await look(10), clock.pending()]).toEqual([0, 0]);
});
