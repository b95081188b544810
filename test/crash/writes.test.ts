// Every write of every store, killed before and after its commit: none is partly applied.
import { afterAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { createRegistry, listWrites } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { bindStores, cases, type Stores } from "../store/cases.ts";
import { bundle } from "../support/bundle.ts";
import { type Child, dumpDatabase, start } from "../support/crash.ts";
import { openCopies, openTestDatabase } from "../support/database.ts";
import { chooseCases } from "../support/rounds.ts";

const SOURCES = [
  new URL("../support/crash-write.ts", import.meta.url),
  new URL("../support/crash-writer.ts", import.meta.url),
];
const [script, writer] = (await bundle(...SOURCES)).map(({ pathname }) => pathname);
const files = openCopies();
afterAll(() => files.release());

// Readiness writes no data, so its effect is invisible.
const writes = listWrites(createRegistry(stores)).filter((name) => !name.startsWith("probe."));

/** The first write of each store: what they share is how a transaction is kept. */
const storeOf = (method: string) => method.split(".")[0];
const isFirst = (method: string, at: number) => storeOf(writes[at - 1] ?? "") !== storeOf(method);

for (const method of chooseCases(writes, isFirst)) {
  test(`${method} is applied completely or not at all`, async () => {
    const { setup, act } = cases.find((one) => one.method === method)!;
    const file = await prepare(setup);
    const [before, after] = [dumpDatabase(file), await dumpAfter(file, act)];
    expect(after).not.toEqual(before);

    for (const [point, expected] of [
      ["before", before],
      ["after", after],
    ] as const) {
      const victim = `${file}.${point}`;
      copyFileSync(file, victim);
      const failPoint = { WADI_FAIL_POINT: `${method}:${point}` };
      const killed = await startWrite(victim, method, failPoint).ended;
      expect(killed).toMatchObject({ signal: "SIGKILL", lines: [], errors: "" });
      expect(dumpDatabase(victim)).toEqual(expected);
    }
  });
}

test("a write without a kill is acknowledged", async () => {
  const method = "accounts.create";
  const file = await prepare(undefined);
  const whole = await startWrite(file, method).ended;
  expect(whole).toMatchObject({ code: 0, lines: ["acknowledged"], errors: "" });
});

/** A process that does the case of this method. */
function startWrite(file: string, method: string, env: Record<string, string> = {}): Child {
  return start([process.execPath, script!, file, method, writer!], env);
}

/** A file in which everything that a case needs is there. */
async function prepare(setup: ((stores: Stores) => Promise<unknown>) | undefined): Promise<string> {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const database = await openTestDatabase(place);
  await setup?.(bindStores(database));
  await database.close();
  return place.file;
}

/** Content of a copy after the write without a kill. */
async function dumpAfter(file: string, act: (stores: Stores) => Promise<unknown>) {
  const copy = `${file}.copy`;
  copyFileSync(file, copy);
  const database = await openTestDatabase({ kind: "sqlite", file: copy });
  await act(bindStores(database));
  await database.close();
  return dumpDatabase(copy);
}
