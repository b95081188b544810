// Counts rows, and refuses one more where an account has its maximum of a thing.
import { type Static, Type } from "@sinclair/typebox";
import { apiError, type ErrorCode } from "../platform/errors.ts";
import { maybe } from "../platform/schema.ts";
import { type Sql, sql } from "./sql.ts";
import type { Db } from "./store.ts";

const Count = Type.Object({ count: Type.Integer() });

/** Rows that wait, and the time of the oldest; null: none waits. */
export const WaitingRows = Type.Object({ count: Type.Integer(), oldest: maybe(Type.Integer()) });
export type WaitingRows = Static<typeof WaitingRows>;

export async function countRows(db: Db, rows: Sql): Promise<number> {
  const found = await db.one(Count, sql`SELECT COUNT(*) AS count ${rows}`);
  return found!.count;
}

/** Throws `code` unless there are fewer `rows` than `maximum`. */
export async function requireCapacity(
  db: Db,
  rows: Sql,
  maximum: number,
  code: ErrorCode,
  message: string,
): Promise<void> {
  if ((await countRows(db, rows)) >= maximum) throw apiError(code, { message });
}
