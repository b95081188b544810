// Stored bytes of an account's runs and events, summed from the rows.
import { Type } from "@sinclair/typebox";
import { type Database, type Sql, sql, store } from "../../src/database/index.ts";

const Sum = Type.Object({ bytes: Type.Integer() });

const length = (...columns: Sql[]) =>
  columns.reduce((sum, column) => sql`${sum} + COALESCE(OCTET_LENGTH(${column}), 0)`, sql`256`);

const reader = store(
  "storage-reader",
  {
    add: async (db, account_id: string) => {
      const runs = sql`(SELECT id FROM runs WHERE account_id = ${account_id})`;
      const threads = sql`(SELECT id FROM threads WHERE account_id = ${account_id})`;
      const parts: [Sql, Sql][] = [
        [
          sql`1024 + ${length(sql`input`, sql`metadata`, sql`cost_prices`)}`,
          sql`runs WHERE id IN ${runs}`,
        ],
        [length(sql`data`), sql`steps WHERE run_id IN ${runs}`],
        [length(sql`content`), sql`tool_outputs WHERE run_id IN ${runs}`],
        [length(sql`arguments`, sql`external_sources`), sql`approvals WHERE run_id IN ${runs}`],
        [length(), sql`threads WHERE id IN ${threads}`],
        [length(sql`url`), sql`run_images WHERE run_id IN ${runs}`],
        [
          length(sql`content`, sql`tool_calls`, sql`parts`),
          sql`messages WHERE thread_id IN ${threads}`,
        ],
        [length(sql`data`), sql`outbox WHERE account_id = ${account_id}`],
      ];
      let bytes = 0;
      for (const [size, rows] of parts) {
        bytes += (await db.one(Sum, sql`SELECT COALESCE(SUM(${size}), 0) AS bytes FROM ${rows}`))!
          .bytes;
      }
      return bytes;
    },
  },
  {},
);

export const readStorage = (database: Database) => database.bind(reader);
