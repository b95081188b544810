// A store for tests, with every column type and every failure of a write.
import { type Static, Type } from "@sinclair/typebox";
import {
  type Database,
  into,
  none,
  type Sql,
  sql,
  store,
  type Tx,
} from "../../src/database/index.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { apiError } from "../../src/platform/errors.ts";
import { Money, maybe, spread, Timestamp } from "../../src/platform/schema.ts";
import { stores } from "../../src/stores.ts";
import { noteWrites } from "./notes.ts";
import { EMPTY } from "./postgres.ts";
import { keeperStore } from "./secret-keeper.ts";
import { recordTold } from "./told.ts";
import { toolWrites } from "./tools.ts";
import { webhookWrites } from "./webhooks.ts";

const Anything = Type.Unsafe<unknown>({ description: "Any JSON value." });

export const Trial = Type.Object({
  id: Type.String(),
  text: Type.String(),
  whole: Type.Integer(),
  flag: Type.Boolean(),
  choice: Type.Union([Type.Literal("left"), Type.Literal("right")]),
  data: Anything,
  amount: Money("An amount."),
  at: Timestamp("An instant."),
  usage: spread({ rounds: Type.Integer(), cost: Money("A cost."), note: maybe(Type.String()) }, ""),
  text_or_null: maybe(Type.String()),
  whole_or_null: maybe(Type.Integer()),
  flag_or_null: maybe(Type.Boolean()),
  data_or_null: maybe(Type.Array(Type.String())),
  amount_or_null: maybe(Money("An amount.")),
  at_or_null: maybe(Timestamp("An instant.")),
});
export type Trial = Static<typeof Trial>;

const Count = Type.Object({ count: Type.Integer() });
const Id = Type.Object({ id: Type.String() });
const Name = Type.Object({ name: Type.String() });
const TABLES = sql`SELECT name FROM sqlite_schema WHERE type = 'table'
  AND name NOT GLOB 'wadi_*' AND name NOT GLOB 'sqlite_*'`;

const plain = (text: string): Sql => sql(Object.assign([text], { raw: [text] }));
const EMPTY_POSTGRES = plain(EMPTY);
const deletions = new Map<string, Sql>();
function writeDeletion(table: string): Sql {
  const known = deletions.get(table) ?? plain(`DELETE FROM "${table}"`);
  deletions.set(table, known);
  return known;
}

export function makeTrial(id: string, fields: Partial<Trial> = {}): Trial {
  return {
    id,
    text: "text",
    whole: 0,
    flag: false,
    choice: "left",
    data: {},
    amount: 1_200_000,
    at: Date.UTC(2026, 10, 20),
    usage: { rounds: 1, cost: 5, note: "n" },
    text_or_null: "text",
    whole_or_null: 1,
    flag_or_null: true,
    data_or_null: ["a"],
    amount_or_null: 1,
    at_or_null: 1,
    ...fields,
  };
}

export interface TrialFilter {
  choice?: Trial["choice"];
  flag?: boolean;
}

export const trialStore = store(
  "trials",
  {
    find: (db, id: string) => db.one(Trial, sql`SELECT * FROM trials WHERE id = ${id}`),
    list: (db, filter: TrialFilter = {}) =>
      db.all(
        Trial,
        sql`SELECT * FROM trials WHERE 1 = 1
          ${filter.choice === undefined ? none : sql`AND choice = ${filter.choice}`}
          ${filter.flag === undefined ? none : sql`AND flag = ${filter.flag}`} ORDER BY id`,
      ),
    count: async (db) => (await db.one(Count, sql`SELECT COUNT(*) AS count FROM trials`))!.count,
    countText: async (db, text: string) =>
      (await db.one(Count, sql`SELECT COUNT(*) AS count FROM trials WHERE text = ${text}`))!.count,
    sumAbove: async (db, whole: number) =>
      (await db.one(
        Count,
        sql`SELECT COALESCE(SUM(whole), 0) AS count FROM trials WHERE whole > ${whole}`,
      ))!.count,
    misread: (db) => db.all(Trial, sql`SELECT id FROM trials`),
  },
  {
    create: async (tx, trial: Trial) => insert(tx, trial),
    /** Creates all in one transaction; each notifies the channel "trial". */
    createAll: async (tx, trials: Trial[]) => {
      for (const trial of trials) {
        await insert(tx, trial);
        tx.tell("trial", trial.id);
      }
    },
    refuse: async (tx, trial: Trial) => {
      await insert(tx, trial);
      tx.tell("trial", trial.id);
      throw apiError("thread_busy", { param: "thread_id", headers: { "retry-after": "7" } });
    },
    break: async (tx, trial: Trial) => {
      await insert(tx, trial);
      tx.tell("trial", trial.id);
      throw new TypeError(`a bug at ${trial.id}`);
    },
    /** Reads each and adds one; without isolation, concurrent calls would lose an increment. */
    increment: async (tx, ids: string[]) => {
      for (const id of ids) {
        const trial = await tx.one(Trial, sql`SELECT * FROM trials WHERE id = ${id}`);
        await tx.run(sql`UPDATE trials SET whole = ${trial!.whole + 1} WHERE id = ${id}`);
      }
    },
    claim: async (tx) => {
      const next = await tx.one(
        Id,
        sql`SELECT id FROM trials WHERE flag = 0 ORDER BY id LIMIT 1 ${tx.skipLocked}`,
      );
      if (next) await tx.run(sql`UPDATE trials SET flag = 1 WHERE id = ${next.id}`);
      return next?.id;
    },
    /** Changes every row in one statement, which SQLite can roll back by itself. */
    overwrite: async (tx, text: string) => tx.run(sql`UPDATE trials SET text = ${text}`),
    /** Stops a SQLite file from growing, as on a full disk. */
    fillDisk: async (tx) => void (await tx.run(sql`PRAGMA max_page_count = 1`)),
    freeDisk: async (tx) => void (await tx.run(sql`PRAGMA max_page_count = 4294967294`)),
    empty: async (tx, isPostgres: boolean) => {
      if (isPostgres) return void (await tx.run(EMPTY_POSTGRES));
      await tx.run(sql`PRAGMA defer_foreign_keys = ON`);
      for (const { name } of await tx.all(Name, TABLES)) await tx.run(writeDeletion(name));
    },
    /** Sets `signal` to 1, and blocks the writing thread until it is set to 2. */
    hold: async (_, signal: Int32Array) => {
      Atomics.store(signal, 0, 1);
      Atomics.wait(signal, 0, 1);
    },
    /** A bug outside any write, which ends the writing thread. */
    explode: async () => {
      setTimeout(() => {
        throw new Error("the thread has a bug");
      }, 0);
    },
  },
);

export const emptyTables = (database: Database): Promise<void> =>
  database.bind(trialStore).empty(database.engine === "postgres");

export const trialStores = [
  ...stores.map(recordTold),
  trialStore,
  keeperStore,
  noteWrites,
  toolWrites,
  webhookWrites,
];

export const trialMigration: Migration = {
  number: 9_000,
  name: "trials",
  statements: ({ integer, text, strict }) => [
    `CREATE TABLE trials (
      id ${text} PRIMARY KEY,
      text ${text} NOT NULL,
      whole ${integer} NOT NULL,
      flag ${integer} NOT NULL,
      choice ${text} NOT NULL,
      data ${text} NOT NULL,
      amount ${integer} NOT NULL,
      at ${integer} NOT NULL,
      usage_rounds ${integer} NOT NULL,
      usage_cost ${integer} NOT NULL,
      usage_note ${text},
      text_or_null ${text},
      whole_or_null ${integer},
      flag_or_null ${integer},
      data_or_null ${text},
      amount_or_null ${integer},
      at_or_null ${integer}
    )${strict}`,
  ],
};

async function insert(tx: Tx, trial: Trial): Promise<boolean> {
  const made = await tx.run(
    sql`INSERT INTO trials ${into(Trial, trial)} ON CONFLICT (id) DO NOTHING`,
  );
  return made === 1;
}
