// Tests a file to which lines are appended in the background, and its failures.
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { yieldToEventLoop } from "../../src/platform/clock.ts";
import { createLineFile, readLines } from "../../src/platform/line-file.ts";
import { createManualClock } from "../support/clock.ts";

let directory: string;
let file: string;
const ended: string[] = [];
const create = (bytesMax = 1_000) =>
  createLineFile(file, {
    clock: createManualClock(),
    head: "head",
    bytesMax: bytesMax,
    onEnd: (why) => ended.push(why),
  });
const read = () => readFileSync(file, "utf8");

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-line-file-"));
  file = join(directory, "lines");
  ended.length = 0;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("lines are written in the order noted, and only their owner can read them", async () => {
  const lines = await create();
  for (const line of ["one", "zwei €", "three"]) lines.append(() => line);
  await lines.close();
  expect(read()).toBe("head\none\nzwei €\nthree\n");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(ended).toEqual([]);
});

test("a line is serialized after its caller has continued", async () => {
  const lines = await create();
  let made = 0;
  lines.append(() => `line ${++made}`);
  expect(made).toBe(0);
  await Promise.resolve();
  expect(made).toBe(0);
  await lines.close();
  expect(made).toBe(1);
});

test("an existing file is left alone", async () => {
  writeFileSync(file, "mine");
  await expect(create()).rejects.toMatchObject({ code: "EEXIST" });
  expect(read()).toBe("mine");
});

test("a file without lines is removed again", async () => {
  const lines = await create();
  expect(read()).toBe("head\n");
  await lines.close();
  expect(existsSync(file)).toBe(false);
});

test("the file ends before the first line beyond its maximum, and reports it once", async () => {
  const lines = await create(14);
  for (const line of ["one", "much too long", "two"]) lines.append(() => line);
  await lines.close();
  lines.append(() => "late");
  expect(read()).toBe("head\none\n");
  expect(ended).toEqual(["too large"]);
});

test("a line that just fits is written", async () => {
  const lines = await create(9);
  lines.append(() => "one");
  await lines.close();
  expect([read(), ended]).toEqual(["head\none\n", []]);
});

/** Lets the next write fail in the middle, as a full disk does. */
async function failNextWrite() {
  const handle = await open(join(directory, "other"), "w");
  const { writeFile } = handle;
  const spy = spyOn(Object.getPrototypeOf(handle), "writeFile");
  await handle.close();
  spy.mockImplementationOnce(async function (this: FileHandle, text: string) {
    await writeFile.call(this, text.slice(0, 2));
    throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  });
  return spy;
}

test("half a line on a full disk is cut off, and reported", async () => {
  const lines = await create();
  lines.append(() => "one");
  await yieldToEventLoop();
  await yieldToEventLoop();
  const spy = await failNextWrite();
  lines.append(() => "two");
  await lines.close();
  spy.mockRestore();
  expect([read(), ended]).toEqual(["head\none\n", ["ENOSPC"]]);
});

test("a file whose first line does not fit on the disk is removed", async () => {
  const spy = await failNextWrite();
  await expect(create()).rejects.toMatchObject({ code: "ENOSPC" });
  spy.mockRestore();
  expect(existsSync(file)).toBe(false);
});

test("as many lines may wait as a disk that is fast enough can cause", async () => {
  const lines = await create(1_000_000);
  for (let n = 0; n < 4_096; n++) lines.append(() => "line");
  expect(ended).toEqual([]);
  lines.append(() => "line");
  expect(ended).toEqual(["too slow"]);
  await lines.close();
});

test("the file ends when more lines wait than a slow disk should cause", async () => {
  const lines = await create(1_000_000);
  for (let n = 0; n < 5_000; n++) lines.append(() => "line");
  await lines.close();
  expect(ended).toEqual(["too slow"]);
});

test("lines are read without their ends, in whatever pieces the file is read", () => {
  // The chunks of a megabyte split letters of three bytes.
  const long = "€".repeat(700_000);
  writeFileSync(file, `one\n\n${long}\nlast`);
  expect([...readLines(file)]).toEqual(["one", "", long, "last"]);
  writeFileSync(file, "one\n");
  expect([...readLines(file)]).toEqual(["one"]);
});

test("invalid UTF-8 is not decoded as something else", () => {
  writeFileSync(file, new Uint8Array([0x61, 0xe2, 0x82]));
  expect(() => [...readLines(file)]).toThrow();
});
