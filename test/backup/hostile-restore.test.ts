// Tests restores of backups that agree with their manifest, and that no database could have made.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { restoreBackup } from "../../src/backup/index.ts";
import { readRows } from "../../src/backup/reader.ts";
import { writeKeys } from "../../src/crypto/index.ts";
import { makeKeyFile } from "../../src/crypto/key-file.ts";
import { hasDatabase, openSnapshot, type TransferPlace } from "../../src/database/index.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { failureOf, type Ground } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { openPostgres } from "../support/pglite.ts";
import { backUp, clock, fill, makeDirectory, placeFile, readAll } from "./fixture.ts";

const BOTH = ["sqlite", "postgres"] as const;
type Engine = (typeof BOTH)[number];

interface Table {
  table: string;
  columns: string[];
  rows: string[];
}

interface Draft {
  schema: number[];
  tables: Table[];
  /** Other values of the manifest. */
  end: Record<string, string>;
}

let ground: Ground;
let lines: string[];

beforeAll(async () => {
  ground = await openPostgres();
  const original = placeFile();
  await fill(original);
  const file = join(makeDirectory(), "one.backup");
  await backUp(original, file);
  lines = Bun.zstdDecompressSync(readFileSync(file)).toString().trimEnd().split("\n");
});
afterAll(() => ground.release());

/** Writes the backup with a change, and a manifest that agrees with it. */
function forge(change: (draft: Draft) => void): string {
  const [header, ...body] = lines.slice(0, -1);
  const manifest = JSON.parse(lines.at(-1)!);
  const draft: Draft = { schema: manifest.schema, tables: [], end: {} };
  for (const line of body) {
    if (line.startsWith("{")) draft.tables.push({ ...JSON.parse(line), rows: [] });
    else draft.tables.at(-1)!.rows.push(line);
  }
  change(draft);
  const heads = draft.tables.map(({ rows, ...head }) => [JSON.stringify(head), ...rows]);
  const content = `${[header, ...heads.flat()].join("\n")}\n`;
  const tables = draft.tables.map(({ table: name, rows }) => ({ name, rows: rows.length }));
  const sha256 = createHash("sha256").update(content).digest("hex");
  const { schema } = draft;
  const end = JSON.stringify({ ...manifest, schema, tables, sha256, ...draft.end });
  const file = join(makeDirectory(), "forged.backup");
  writeFileSync(file, Bun.zstdCompressSync(`${content}${end}\n`));
  return file;
}

const find = ({ tables }: Draft, name: string) => tables.find(({ table }) => table === name)!;
const restore = (file: string, place: TransferPlace, time: Clock = clock) =>
  restoreBackup({
    ...{ file, place, placeName: "the target", replaces: false, clock: time },
    ids: createSeededIds(7),
  });

async function refuse(
  change: (draft: Draft) => void,
  describe: () => string,
  engines: readonly Engine[] = BOTH,
) {
  const file = forge(change);
  const directory = placeFile();
  const places: TransferPlace[] = [directory];
  if (engines.includes("postgres")) places.push((await ground.makePlace()) as TransferPlace);
  for (const place of places) {
    expect(await failureOf(restore(file, place))).toMatchObject({
      ...{ name: "BackupError", message: `${file} ${describe()}` },
    });
    expect(await hasDatabase(place)).toBe(false);
  }
  expect(existsSync(`${directory.file}.restore`)).toBe(false);
}

test("whole numbers in other notations are restored alike by both engines", async () => {
  const file = forge((draft) => void find(draft, "accounts").rows.push('["a","b",1.0,null]'));
  for (const place of [placeFile(), (await ground.makePlace()) as TransferPlace]) {
    await restore(file, place);
    expect((await readAll(place)).accounts).toContain('["a","b",1,null]');
  }
});

test("a manifest that counts other rows than there are is refused", async () => {
  await refuse(
    ({ end, tables }) => {
      const counts = tables.map(({ table: name, rows }) => ({ name, rows: rows.length }));
      counts[0]!.rows += 1;
      Object.assign(end, { tables: counts });
    },
    () => "is damaged: its content is not what its manifest says; use another",
  );
});

test("rows are read in parts of 1,000, or of 256 KB", async () => {
  const long = JSON.stringify(["x".repeat(100_000)]);
  const file = forge((draft) => {
    draft.tables.length = 0;
    const columns = ["id"];
    draft.tables.push({ table: "many", columns, rows: Array(1_500).fill('["a"]') });
    draft.tables.push({ table: "long", columns, rows: Array(5).fill(long) });
  });
  const parts: [string, number, number][] = [];
  for await (const { table, before, rows } of readRows(file)) {
    parts.push([table, before, rows.length]);
  }
  expect(parts).toEqual([
    ["many", 0, 1_000],
    ["many", 1_000, 500],
    ["long", 0, 3],
    ["long", 3, 2],
  ]);
});

test("a backup that has become another one since it was verified is refused", async () => {
  const file = forge(() => {});
  const other = forge((draft) => void find(draft, "key_secrets").rows.pop());
  const place = placeFile();
  // The time is read between both readings of the file.
  const now = () => {
    copyFileSync(other, file);
    return clock.now();
  };
  const failure = await failureOf(restore(file, place, { ...clock, now }));
  expect(failure.message).toBe(`${file} has changed while it was read`);
  expect(await hasDatabase(place)).toBe(false);
});

test("both engines read every row, and go on behind any key", async () => {
  const others = Array.from({ length: 150 }, (_, at) => `["n${at}","n${at}",1,null]`);
  const rows = [...others, '["o\'neil","\'",1,null]', '["o\'z","z",2,null]'];
  let count = 0;
  const file = forge((draft) => {
    count = find(draft, "accounts").rows.push(...rows);
  });
  for (const place of [placeFile(), (await ground.makePlace()) as TransferPlace]) {
    await restore(file, place);
    const { accounts } = await readAll(place);
    expect(new Set(accounts).size).toBe(count);
    const snapshot = await openSnapshot(place);
    const table = snapshot.tables.find(({ name }) => name === "accounts")!;
    const later = await Array.fromAsync(snapshot.scan(table, ["o'neil"]));
    expect(later.flat()).toEqual(accounts!.slice(accounts!.indexOf(rows[150]!) + 1));
    expect(later.flat()).toContain(rows[151]!);
    await snapshot.close();
  }
});

const MISFIT = "has values that its columns do not take";
/** Both engines check a value alike, before they insert it. */
const ONE = ["sqlite"] as const;
test.each<[string, string, readonly Engine[]]>([
  ["an object", '["a","b",{"a":1},null]', ONE],
  ["a list", '["a","b",[1],null]', ONE],
  ["true", '["a","b",true,null]', ONE],
  ["too few values", '["a","b",5]', ONE],
  ["too many values", '["a","b",5,null,null]', ONE],
  ["a text as a number", '["a","b","5",null]', BOTH],
  ["a number as a text", '["a",7,5,null]', ONE],
  ["a fraction", '["a","b",1.5,null]', BOTH],
  ["more than 64 bits", '["a","b",9223372036854775808,null]', ONE],
  ["an infinite number", '["a","b",1e400,null]', ONE],
  ["NUL", '["a","b\\u0000",5,null]', BOTH],
  ["half a pair", '["a","b\\ud800",5,null]', ONE],
  ["nothing where a value must be", '["a",null,5,null]', BOTH],
  ["no JSON", '["a",', ONE],
])("a row that holds %s is named", async (_, row, engines) => {
  let count = 0;
  await refuse(
    (draft) => {
      count = find(draft, "accounts").rows.push(row);
    },
    () => `cannot be restored: row ${count} of its table accounts ${MISFIT}; use another`,
    engines,
  );
});

test("a row behind the first batch is named by its number in the table", async () => {
  await refuse(
    (draft) => {
      const accounts = find(draft, "accounts");
      const others = Array.from({ length: 2_500 }, (_, at) => `["a${at}","b${at}",5,null]`);
      accounts.rows = [...accounts.rows.slice(0, 1), ...others];
      accounts.rows[2_000] = accounts.rows[1]!.replace("a0", "a");
    },
    () =>
      "cannot be restored: row 2001 of its table accounts repeats what only one row may have; " +
      "use another",
  );
});

test("a row is named whose reference leads nowhere", async () => {
  await refuse(
    (draft) => void find(draft, "key_secrets").rows.unshift('["hash","no-key",5,null,null]'),
    () =>
      "cannot be restored: row 1 of its table key_secrets belongs to a row that is missing; " +
      "use another",
  );
});

test("a refused restore writes no secrets key", async () => {
  const directory = makeDirectory();
  const keys = makeKeyFile(join(directory, "made.key"));
  const file = forge((draft) => {
    find(draft, "accounts").rows.push('["a"]');
    Object.assign(draft.end, { secrets_key: writeKeys(keys), key_id: keys[0]!.id });
  });
  const secretsKeyFile = join(directory, "secrets.key");
  const place = placeFile();
  const options = { file, place, placeName: "the target", replaces: false, secretsKeyFile };
  const failure = await failureOf(restoreBackup({ ...options, clock, ids: createSeededIds(7) }));
  expect(failure.message).toContain(MISFIT);
  expect(existsSync(secretsKeyFile)).toBe(false);
});

test.each([
  ["created_at", "\u001b]0;owned\u0007"],
  ["created_at", "2027-01-05T00:00:00.000Z\n"],
  ["created_at", "yesterday"],
  ["program", "1.0.0\u001b[2J"],
  ["program", "1.0.0\u202e"],
  ["installation_id", "a\u001b[2J"],
  ["key_id", "a\nb"],
])("a manifest whose %s is %j is refused", async (name, value) => {
  await refuse(
    ({ end }) => void Object.assign(end, { [name]: value }),
    () => "has no end: it is no whole backup",
  );
});

const TABLES = "does not hold the tables of its schema; use another";
test.each<[string, string, (draft: Draft) => void]>([
  ["an empty schema", TABLES, (draft) => void draft.schema.splice(0)],
  [
    "neither schema nor tables",
    TABLES,
    (draft) => Object.assign(draft, { schema: [], tables: [] }),
  ],
  ["a schema without its beginning", TABLES, (draft) => void draft.schema.shift()],
  ["a schema with a gap", TABLES, (draft) => void draft.schema.splice(5, 1)],
  ["an older schema", TABLES, (draft) => void draft.schema.splice(8)],
  [
    "one table less",
    TABLES,
    (draft) => void draft.tables.splice(draft.tables.indexOf(find(draft, "key_secrets")), 1),
  ],
  ["a table twice", TABLES, (draft) => void draft.tables.push({ ...draft.tables[0]!, rows: [] })],
  ["tables in another order", TABLES, (draft) => void draft.tables.reverse()],
  [
    "no identity",
    "needs one row in its table wadi_installation; use another",
    (draft) => void find(draft, "wadi_installation").rows.pop(),
  ],
  [
    "two identities",
    "needs one row in its table wadi_installation; use another",
    (draft) => {
      const { rows } = find(draft, "wadi_installation");
      rows.push(rows[0]!.replace("1", "2"));
    },
  ],
  [
    "no place for the last sweep",
    "needs one row in its table sweeps; use another",
    (draft) => void find(draft, "sweeps").rows.pop(),
  ],
])("a backup with %s is refused", async (_, says, change) => {
  await refuse(change, () => says);
});
