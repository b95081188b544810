// Every write of every store, killed in front of its commit and behind it: nothing is half there.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { createRegistry, listWrites } from "../../src/platform/database/index.ts";
import { stores } from "../../src/stores.ts";
import { bindHouses, cases, type Houses } from "../store/cases.ts";
import { dumpDatabase, start } from "../support/crash.ts";
import { openFiles, openTestDatabase } from "../support/database.ts";

const files = openFiles();
const script = join(files.directory, "crash-write.js");
beforeAll(async () => {
  // Three processes a write: reading all of the source each time would be most of what they do.
  const sources = [
    new URL("../support/crash-write.ts", import.meta.url),
    new URL("../support/crash-writer.ts", import.meta.url),
  ];
  const entrypoints = sources.map(({ pathname }) => pathname);
  await Bun.build({ entrypoints, outdir: files.directory, target: "bun" });
});
afterAll(() => files.release());

// Readiness writes no data: what it leaves cannot be told apart.
const writes = listWrites(createRegistry(stores)).filter((name) => name !== "probe.touch");

for (const method of writes) {
  test(`${method} is wholly there or not at all`, async () => {
    const { given, act } = cases.find((one) => one.method === method)!;
    const file = await prepare(given);
    const [before, after] = [dumpDatabase(file), await dumpAfter(file, act)];
    expect(after).not.toEqual(before);

    const work = (name: string, failPoint = "") => {
      const copy = `${file}.${name}`;
      copyFileSync(file, copy);
      const command = [process.execPath, script, copy, method];
      return { copy, ended: start(command, { WADI_FAIL_POINT: failPoint }).ended };
    };
    const killed = { signal: "SIGKILL", lines: [], errors: "" };
    const acknowledged = { code: 0, lines: ["acknowledged"], errors: "" };
    for (const [{ copy, ended }, end, left] of [
      [work("before", `${method}:before`), killed, before],
      [work("after", `${method}:after`), killed, after],
      [work("whole"), acknowledged, after],
    ] as const) {
      expect(await ended).toMatchObject(end);
      expect(dumpDatabase(copy)).toEqual(left);
    }
  });
}

/** A file in which everything that a case needs is there. */
async function prepare(given: ((houses: Houses) => Promise<unknown>) | undefined): Promise<string> {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const database = await openTestDatabase(place);
  await given?.(bindHouses(database));
  await database.close();
  return place.file;
}

/** What the write leaves in a copy when nobody kills it. */
async function dumpAfter(file: string, act: (houses: Houses) => Promise<unknown>) {
  const copy = `${file}.copy`;
  copyFileSync(file, copy);
  const database = await openTestDatabase({ kind: "sqlite", file: copy });
  await act(bindHouses(database));
  await database.close();
  return dumpDatabase(copy);
}
