// The note of a watchdog: read as it was written, and whatever else lies there is none.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readNote, removeNote, writeNote } from "../../src/cluster/watchdog.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-note-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const file = join(root, "watchdog.json");

test("a note is read as it was written, until it is removed", () => {
  const hung = { run_id: "r-1", epoch: 3, call: "call_1" };
  const note = { at: "2026-11-22T00:00:00.000Z", hung, runs: ["r-1", "r-2"] };
  writeNote(file, note);
  expect(readNote(file)).toEqual(note);
  writeNote(file, { ...note, hung: null });
  expect(readNote(file)).toEqual({ ...note, hung: null });
  removeNote(file);
  removeNote(file);
  expect(readNote(file)).toBeNull();
});

test.each(["", "{", "null", "[]", '{"at":1,"runs":[]}', '{"at":"","runs":{}}', "x"])(
  "%p is no note",
  (text) => {
    writeFileSync(file, text);
    expect(readNote(file)).toBeNull();
  },
);

test("a call that is not named whole is none", () => {
  writeFileSync(file, '{"at":"","runs":[],"hung":{"run_id":"r-1","epoch":"3","call":"c"}}');
  expect(readNote(file)).toEqual({ at: "", runs: [], hung: null });
});
