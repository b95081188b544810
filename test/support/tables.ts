// Counts the rows of every table of a database.
import { Type } from "@sinclair/typebox";
import { type Database, type Sql, sql, store } from "../../src/database/index.ts";

const Count = Type.Object({ count: Type.Integer() });
const Name = Type.Object({ name: Type.String() });

const tables = sql`SELECT name FROM sqlite_schema WHERE type = 'table'
  AND name NOT GLOB 'wadi_*' AND name NOT GLOB 'sqlite_*' ORDER BY name`;
const postgresTables = sql`SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = current_schema() AND table_name NOT LIKE 'wadi_%' ORDER BY table_name`;
const plain = (text: string): Sql => sql(Object.assign([text], { raw: [text] }));

const countStore = store(
  "counts",
  {
    count: async (db, isPostgres: boolean) => {
      const counts: Record<string, number> = {};
      for (const { name } of await db.all(Name, isPostgres ? postgresTables : tables)) {
        const found = await db.one(Count, plain(`SELECT COUNT(*) AS count FROM "${name}"`));
        counts[name] = found!.count;
      }
      return counts;
    },
  },
  {},
);

export function countTables(database: Database): Promise<Record<string, number>> {
  return database.bind(countStore).count(database.engine === "postgres");
}
