// Tests that a watchdog's note is read as it was written, and other content is ignored.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readNote } from "../../src/cluster/watchdog.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-note-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const file = join(root, "watchdog.json");

test("a note is read as it was written, and a missing one is none", () => {
  const hung = { run_id: "r-1", epoch: 3, call: "call_1" };
  const note = { at: "2026-11-22T00:00:00.000Z", hung, runs: ["r-1", "r-2"] };
  writeFileSync(file, JSON.stringify(note));
  expect(readNote(file)).toEqual(note);
  writeFileSync(file, JSON.stringify({ ...note, hung: null }));
  expect(readNote(file)).toEqual({ ...note, hung: null });
  rmSync(file);
  expect(readNote(file)).toBeNull();
});

test.each(["", "{", "null", "[]", '{"at":1,"runs":[]}', '{"at":"","runs":{}}', "x"])(
  "%p is no note",
  (text) => {
    writeFileSync(file, text);
    expect(readNote(file)).toBeNull();
  },
);

test("a file of over 64 KB is no note", () => {
  const text = '{"at":"","runs":[],"hung":null}';
  writeFileSync(file, text.padEnd(65_536));
  expect(readNote(file)).not.toBeNull();
  writeFileSync(file, text.padEnd(65_537));
  expect(readNote(file)).toBeNull();
});

test("a truncated call name is ignored", () => {
  writeFileSync(file, '{"at":"","runs":[],"hung":{"run_id":"r-1","epoch":"3","call":"c"}}');
  expect(readNote(file)).toEqual({ at: "", runs: [], hung: null });
});
