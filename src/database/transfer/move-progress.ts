// The progress of a move, in a table of its target; each step commits it with its rows.
import { Type } from "@sinclair/typebox";
import { maybe } from "../../platform/schema.ts";
import { migrations } from "../migrations/index.ts";
import { sql } from "../sql.ts";
import type { LoadTransaction } from "./loader.ts";
import type { KeyValue } from "./snapshot.ts";
import { MOVE_TABLE, type TransferTable } from "./tables.ts";

export interface MoveOrigin {
  installation_id: string;
  /** Stamp of the source; with another one the move starts over. */
  stamp: string;
}

export interface TableProgress {
  rows: number;
  /** Key of the last copied row. */
  after: readonly KeyValue[] | null;
  /** Sum over the copied rows in their order. */
  sum: string;
}

export interface MoveProgress {
  origin: MoveOrigin;
  tables: Map<string, TableProgress>;
}

export const NO_PROGRESS: TableProgress = { rows: 0, after: null, sum: "0" };

const Row = Type.Object({
  name: Type.String(),
  copied: Type.Integer(),
  last_key: maybe(Type.String()),
  sum: Type.String(),
});
/** Name of the row that holds the origin; no table has it. */
const ORIGIN = "";

/** Empties the target and begins; from then on it says that it is not whole. */
export async function beginMove(load: LoadTransaction, origin: MoveOrigin): Promise<void> {
  await load.drop();
  await load.create(migrations);
  await load.run(
    `CREATE TABLE ${MOVE_TABLE} (name TEXT PRIMARY KEY, copied INTEGER NOT NULL, last_key TEXT,
       sum TEXT NOT NULL)`,
  );
  const { installation_id, stamp } = origin;
  await load.tx.run(sql`INSERT INTO wadi_move VALUES (${ORIGIN}, 0, ${installation_id}, ${stamp})`);
}

export async function readMove(load: LoadTransaction): Promise<MoveProgress | null> {
  if (!(await load.hasTable(MOVE_TABLE))) return null;
  const rows = await load.tx.all(Row, sql`SELECT name, copied, last_key, sum FROM wadi_move`);
  const origin = rows.find(({ name }) => name === ORIGIN)!;
  const tables = rows
    .filter(({ name }) => name !== ORIGIN)
    .map(({ name, copied, last_key, sum }): [string, TableProgress] => {
      return [name, { rows: copied, after: last_key === null ? null : JSON.parse(last_key), sum }];
    });
  return {
    origin: { installation_id: origin.last_key ?? "", stamp: origin.sum },
    tables: new Map(tables),
  };
}

/** Copies a batch, and notes it in the same transaction. */
export async function copyBatch(
  load: LoadTransaction,
  table: TransferTable,
  rows: readonly string[],
  progress: TableProgress,
): Promise<void> {
  await load.insert(table, rows);
  const last_key = JSON.stringify(progress.after);
  await load.tx.run(
    sql`INSERT INTO wadi_move VALUES (${table.name}, ${progress.rows}, ${last_key}, ${progress.sum})
        ON CONFLICT (name) DO UPDATE SET copied = excluded.copied, last_key = excluded.last_key,
          sum = excluded.sum`,
  );
}

export async function endMove(load: LoadTransaction): Promise<void> {
  await load.run(`DROP TABLE ${MOVE_TABLE}`);
}

export function advance(
  { rows, sum }: TableProgress,
  { columns, key }: TransferTable,
  batch: readonly string[],
): TableProgress {
  const last = JSON.parse(batch.at(-1)!) as KeyValue[];
  let hash = BigInt(sum);
  for (const row of batch) hash = Bun.hash.wyhash(row, hash);
  const after = key.map((name) => last[columns.indexOf(name)]!);
  return { rows: rows + batch.length, after, sum: String(hash) };
}
