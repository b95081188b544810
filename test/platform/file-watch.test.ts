// Tests the file watch: every kind of change is reported once.
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
/** A watched file with the text "a"; `look` runs polls and returns the number of reports. */
function watch(path = join(directory, `file-${++files}`)) {
  writeFileSync(path, "a");
  const clock = createManualClock();
  let changes = 0;
  const onChange = () => void changes++;
  const watching = new FileWatch({ path, stamp: readStamp(path), clock, onChange });
  watching.start();
  const look = async (times: number) => {
    await clock.advance(times * 1_000);
    return changes;
  };
  return { path, clock, watching, look };
}

test("an unchanged file is not reported", async () => {
  const { look } = watch();
  expect(await look(100)).toBe(0);
});

test("a change is reported once, when it has lasted for one more poll", async () => {
  const { path, look } = watch();
  writeFileSync(path, "bb");
  expect(await look(1)).toBe(0);
  expect(await look(1)).toBe(1);
  expect(await look(100)).toBe(1);
  writeFileSync(path, "ccc");
  expect(await look(2)).toBe(2);
});

test("a file is reported only once its writes have ended", async () => {
  const { path, look } = watch();
  for (let n = 0; n < 5; n++) {
    appendFileSync(path, "more");
    expect(await look(1)).toBe(0);
  }
  expect(await look(1)).toBe(1);
});

test("a change of equal size is detected by the time, and of equal time by the inode", async () => {
  const { path, look } = watch();
  utimesSync(path, 1, 1);
  expect(await look(2)).toBe(1);
  writeFileSync(`${path}.new`, "b");
  utimesSync(`${path}.new`, 1, 1);
  renameSync(`${path}.new`, path);
  expect(await look(2)).toBe(2);
});

test("a link with a new target is reported, and so is a link in its path", async () => {
  const versions = ["v1", "v2"].map((name) => join(directory, name));
  for (const version of versions) writeFileSync(version, version);
  const link = join(directory, "link");
  symlinkSync(versions[0]!, link);
  const clock = createManualClock();
  let changes = 0;
  const onChange = () => void changes++;
  new FileWatch({ path: link, stamp: readStamp(link), clock, onChange }).start();
  symlinkSync(versions[1]!, `${link}.new`);
  renameSync(`${link}.new`, link);
  await clock.advance(2_000);
  expect(changes).toBe(1);
});

test("a file that vanishes is reported once, and again when it is back", async () => {
  const { path, look } = watch();
  rmSync(path);
  expect(readStamp(path)).toBe(MISSING);
  expect(await look(10)).toBe(1);
  writeFileSync(path, "back");
  expect(await look(10)).toBe(2);
});

test("a noted state is not reported", async () => {
  const { path, look, watching } = watch();
  writeFileSync(path, "bb");
  watching.note();
  expect(await look(10)).toBe(0);
});

test("polling stops when it is stopped", async () => {
  const { path, look, watching, clock } = watch();
  watching.stop();
  writeFileSync(path, "bb");
  expect([await look(10), clock.pending()]).toEqual([0, 0]);
});
