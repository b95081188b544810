// Every write of every store, cut off before and after its commit: none is partly applied.
import { afterAll, expect, test } from "bun:test";
import { createRegistry, listWrites } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { bindStores, cases, type Stores } from "../store/cases.ts";
import { bundle } from "../support/bundle.ts";
import { start } from "../support/crash.ts";
import { openCopies, openTestDatabase } from "../support/database.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { chooseCases } from "../support/rounds.ts";

const [script] = await bundle(new URL("../support/crash-write.ts", import.meta.url));
/** It copies each file as a kill would leave it there; other tests kill processes. */
const writer = start([process.execPath, script!.pathname]);
const files = openCopies();
afterAll(async () => {
  writer.kill();
  expect(await writer.ended).toMatchObject({ lines: [], errors: "" });
  await files.release();
});

// Readiness writes no data, and a question only wakes processes.
const INVISIBLE = ["probe.", "processes.askAbout"];
const writes = listWrites(createRegistry(stores)).filter(
  (name) => !INVISIBLE.some((start) => name.startsWith(start)),
);

/** The first write of each store: what they share is how a transaction is kept. */
const storeOf = (method: string) => method.split(".")[0];
const isFirst = (method: string, at: number) => storeOf(writes[at - 1] ?? "") !== storeOf(method);

for (const method of chooseCases(writes, isFirst)) {
  test(`${method} is applied completely or not at all`, async () => {
    for (const [index, one] of cases.entries()) {
      if (one.method !== method) continue;
      const file = await prepare(one.setup);
      writer.send(`${file} ${index}`);
      expect(await writer.next()).toBe(`acknowledged ${index}`);
      const [before, after] = await Promise.all(
        ["before", "after"].map((side) => Bun.file(`${file}.${side}.json`).json()),
      );
      expect(read(`${file}.before`)).toEqual(before);
      expect(read(`${file}.after`)).toEqual(after);
      if (!Bun.deepEquals(after, before)) return;
    }
    expect.unreachable("no case of it changes anything");
  });
}

const read = (file: string) => JSON.parse(JSON.stringify(dumpDatabase(file)));

/** A file in which everything that a case needs is there. */
async function prepare(setup: ((stores: Stores) => Promise<unknown>) | undefined): Promise<string> {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const database = await openTestDatabase(place);
  await setup?.(bindStores(database));
  await database.close();
  return place.file;
}
