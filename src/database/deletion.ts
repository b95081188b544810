// Deletes many rows in parts, each of them a transaction of milliseconds.
import { Type } from "@sinclair/typebox";
import { type Sql, sql } from "./sql.ts";
import type { Tx } from "./store.ts";

const Id = Type.Object({ id: Type.String() });

/** Result of one part. */
export interface DeletedPart {
  rows: number;
  /** Position of the next part; null: nothing is left. */
  next: string | null;
}

export interface RowSelection {
  table: Sql;
  /** Columns of the primary key. */
  key: Sql;
  where: Sql;
}

/** Deletes up to `limit` of the selected rows; returns how many. */
export function deleteRows(
  tx: Tx,
  { table, key, where }: RowSelection,
  limit: number,
): Promise<number> {
  return tx.run(
    sql`DELETE FROM ${table} WHERE (${key}) IN
          (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${limit})`,
  );
}

/** Deletes selected rows that an index finds. */
export async function deleteIndexed(
  tx: Tx,
  selection: RowSelection,
  limit: number,
): Promise<DeletedPart> {
  const rows = await deleteRows(tx, selection, limit);
  return { rows, next: rows < limit ? null : "" };
}

export interface RowTree<P> {
  find(): Promise<P | undefined>;
  /** Deletes up to `limit` rows below the parent; returns how many. */
  deleteChildren(parent: P, limit: number): Promise<number>;
  deleteParent(parent: P): Promise<unknown>;
}

/** Deletes parents one after another, each after its children, which may be many. */
export async function deleteTrees<P>(tree: RowTree<P>, limit: number): Promise<DeletedPart> {
  let rows = 0;
  while (rows < limit) {
    const parent = await tree.find();
    if (!parent) return { rows, next: null };
    rows += await tree.deleteChildren(parent, limit - rows);
    if (rows >= limit) break;
    await tree.deleteParent(parent);
    rows++;
  }
  return { rows, next: "" };
}

export interface WalkPart {
  account_id: string;
  /** Id behind which the part begins. */
  after: string;
  limit: number;
}

/** Deletes an account's rows among the next `limit` of all; the table has no index of accounts. */
export async function deleteWalking(
  tx: Tx,
  table: Sql,
  { account_id, after, limit }: WalkPart,
): Promise<DeletedPart> {
  const behind = sql`FROM ${table} WHERE id > ${after} ORDER BY id`;
  const last = await tx.one(Id, sql`SELECT id ${behind} LIMIT 1 OFFSET ${limit - 1}`);
  const rows = await tx.run(
    sql`DELETE FROM ${table} WHERE id IN (SELECT id FROM
          (SELECT id, account_id ${behind} LIMIT ${limit}) AS part
          WHERE account_id = ${account_id})`,
  );
  return { rows, next: last?.id ?? null };
}
