// Tables of Wadi's names that another program has made: nothing of Wadi may drop or use them.
import type { SQL, TransactionSQL } from "bun";
import { explainForeign } from "../errors.ts";
import { listOwnNames } from "./tables.ts";

interface ForeignTable {
  name: string;
  /** New tables go to the same schema. */
  is_in_way: boolean;
}

/** Throws where a first start could not make its tables. */
export async function requireFreeNames(pool: SQL, url: string): Promise<void> {
  const found = await listForeignTables(pool);
  const names = found.filter((table) => table.is_in_way).map(({ name }) => name);
  if (names.length > 0) throw explainForeign(url, names);
}

/** Throws where a drop by name would reach a table that Wadi did not make. */
export async function requireOwnTables(runner: TransactionSQL, url: string): Promise<void> {
  const names = (await listForeignTables(runner)).map(({ name }) => name);
  if (names.length > 0) throw explainForeign(url, names);
}

/** Wadi's tables are in the schema of `wadi_schema`, which is the first one that it makes. */
async function listForeignTables(runner: SQL | TransactionSQL): Promise<ForeignTable[]> {
  const names = (await listOwnNames()).toSorted().join(",");
  return runner.unsafe(
    `SELECT wanted.name, nspname = current_schema() AS is_in_way
     FROM unnest(string_to_array('${names}', ',')) WITH ORDINALITY AS wanted (name, position)
       JOIN pg_class AS found ON found.oid = to_regclass(wanted.name)
       JOIN pg_namespace AS place ON place.oid = found.relnamespace
     WHERE found.relnamespace IS DISTINCT FROM
       (SELECT own.relnamespace FROM pg_class AS own WHERE own.oid = to_regclass('wadi_schema'))
     ORDER BY position`,
  );
}
