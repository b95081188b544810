// Tests that no move, restore or start touches what another program has made in PostgreSQL.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { moveData, restoreBackup } from "../../src/backup/index.ts";
import { inspectDatabase, openDatabase, type TransferPlace } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { failureOf, type Ground } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { openPostgres } from "../support/pglite.ts";
import { backUp, clock, fill, makeDirectory, placeFile, readAll } from "./fixture.ts";

let ground: Ground;
let source: TransferPlace;
let file: string;
let target: TransferPlace & { kind: "postgres" };

beforeAll(async () => {
  ground = await openPostgres();
  source = placeFile();
  await fill(source);
  file = join(makeDirectory(), "one.backup");
  await backUp(source, file);
}, 120_000);
afterAll(() => ground.release());
beforeEach(async () => {
  target = (await ground.makePlace()) as typeof target;
});

async function run(text: string) {
  const pool = new SQL({ url: target.url, max: 1 });
  try {
    return await pool.unsafe(text).simple();
  } finally {
    await pool.close();
  }
}

const restore = (replaces: boolean) =>
  restoreBackup({
    ...{ file, place: target, placeName: "the target", replaces, clock, ids: createSeededIds(7) },
  });
const move = (replaces: boolean) =>
  moveData({
    ...{ source, sourceName: "the source", target, targetName: "the target", replaces, clock },
    ...{ say() {}, beforeEnd() {} },
  });
const open = () => openDatabase({ place: target, stores, clock, onFailure() {} });

function explain(...names: string[]): string {
  const { host, pathname } = new URL(target.url);
  return (
    `database "${pathname.slice(1)}" of PostgreSQL at ${host} has tables of another program ` +
    `(${names.join(", ")}): name another database, or a schema of its own by ?search_path=NAME`
  );
}

const FOREIGN = "CREATE TABLE accounts (owner TEXT); INSERT INTO accounts VALUES ('shop')";

test.each([false, true])("a table of another program stays, with --yes %p", async (replaces) => {
  await run(FOREIGN);
  for (const work of [restore, move]) {
    expect((await failureOf(work(replaces))).message).toBe(explain("accounts"));
  }
  expect([...(await run("SELECT owner FROM accounts"))]).toEqual([{ owner: "shop" }]);
  expect((await run("SELECT to_regclass('runs') AS runs"))[0].runs).toBeNull();
});

/** PGlite has one session, whose search path no address sets. */
const testSchemas = test.skipIf(!process.env.WADI_TEST_POSTGRES);

testSchemas("a table of another program in the next schema of the path stays", async () => {
  await run(FOREIGN);
  await run("CREATE SCHEMA own");
  const url = new URL(target.url);
  url.searchParams.set("search_path", "own,public");
  target = { ...target, url: url.href };
  expect((await failureOf(restore(true))).message).toBe(explain("accounts"));
  // A start makes all its tables in the first schema.
  await (await open()).close();
  await restore(true);
  expect((await run("SELECT owner FROM public.accounts"))[0]).toEqual({ owner: "shop" });
});

test("a start and a check refuse tables of another program, and name three of them", async () => {
  await run(["runs", "agents", "threads", "accounts"].map((n) => `CREATE TABLE ${n} ()`).join(";"));
  const message = explain("accounts", "agents", "runs", "…");
  expect((await failureOf(open())).message).toBe(message);
  expect((await failureOf(inspectDatabase(target))).message).toBe(message);
  expect((await run("SELECT to_regclass('wadi_schema') AS made"))[0].made).toBeNull();
});

test.each([
  [
    "view",
    // A terminal would obey the first character of its name.
    'CREATE VIEW "\u009bshown" AS SELECT id FROM runs',
    'view "shown" depends on table runs',
  ],
  [
    "foreign key",
    "CREATE TABLE bills (account TEXT CONSTRAINT billed REFERENCES accounts (id))",
    "constraint billed on table bills depends on table accounts",
  ],
])("a %s of another program on a table of Wadi's is named", async (_, text, says) => {
  await restore(false);
  await run(text);
  const { host, pathname } = new URL(target.url);
  for (const work of [restore, move]) {
    expect((await failureOf(work(true))).message).toBe(
      `database "${pathname.slice(1)}" of PostgreSQL at ${host} has an object of another program: ` +
        `${says}: drop it, or use another database`,
    );
  }
  expect((await inspectDatabase(target)).schema).toBe("current");
});

testSchemas("a schema of its own takes a restore beside another program", async () => {
  await run(FOREIGN);
  await run("CREATE SCHEMA own");
  const url = new URL(target.url);
  url.searchParams.set("search_path", "own");
  target = { ...target, url: url.href };
  await restore(false);
  expect(await readAll(target)).toEqual(await readAll(source));
  expect((await run("SELECT owner FROM public.accounts"))[0]).toEqual({ owner: "shop" });
});
