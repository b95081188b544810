// Bytes that accounts store, counted by the writes that store and delete them.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { type Db, type Sql, sql, store, type Tx } from "../database/index.ts";
import { apiError } from "../platform/errors.ts";
import { writeRow } from "../platform/schema.ts";

/**
 * Parts of an account's counter: several rows keep writes of one kind from waiting for another's.
 * Each webhook endpoint has its own, which is deleted with it.
 */
export type StoredPart = "definitions" | "runs" | "events" | `webhook ${string}`;

/** Size of a row without its long texts: ids, numbers and index entries. */
export const ROW_BYTES = 256;

const Sum = Type.Object({ bytes: Type.Integer() });
const AccountBytes = Type.Object({
  account_id: Type.String(),
  bytes: Type.Integer(),
});

export function measureRow(...texts: readonly (string | null)[]): number {
  let bytes = ROW_BYTES;
  for (const text of texts) if (text !== null) bytes += Buffer.byteLength(text);
  return bytes;
}

export function measureWhole<S extends TObject>(schema: S, row: Static<S>): number {
  return measureRow(...writeRow(schema, row).filter((value) => typeof value === "string"));
}

export function sumStored(account_id: string): Sql {
  return sql`(SELECT COALESCE(SUM(bytes), 0) FROM stored_bytes WHERE account_id = ${account_id})`;
}

async function findStored(db: Db, account_id: string): Promise<number> {
  return (await db.one(Sum, sql`SELECT ${sumStored(account_id)} AS bytes`))!.bytes;
}

/** Part of a transaction: adds `bytes`, which may be negative. */
export async function countStored(
  tx: Tx,
  account_id: string,
  part: StoredPart,
  bytes: number,
): Promise<void> {
  if (bytes === 0) return;
  await tx.run(
    sql`INSERT INTO stored_bytes (account_id, part, bytes) VALUES (${account_id}, ${part}, ${bytes})
        ON CONFLICT (account_id, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes`,
  );
}

/** Part of a transaction: throws where `bytes` more exceed the account's budget. */
export async function requireStorage(
  db: Db,
  account_id: string,
  bytes: number,
  storedMax: number,
): Promise<void> {
  requireStoredBytes((await findStored(db, account_id)) + bytes, storedMax);
}

/** Part of a transaction: requires and counts the bytes of rows that are never deleted. */
export async function storeDefinition(
  tx: Tx,
  account_id: string,
  bytes: number,
  storedMax: number,
): Promise<void> {
  await requireStorage(tx, account_id, bytes, storedMax);
  await countStored(tx, account_id, "definitions", bytes);
}

export function requireStoredBytes(bytes: number, storedMax: number): void {
  if (bytes <= storedMax) return;
  const message =
    `The account may store ${storedMax} bytes, and this would be over it: delete webhook ` +
    "endpoints with many deliveries, or ask the operator for more.";
  throw apiError("storage_limit_reached", { message });
}

export async function dropStored(tx: Tx, account_id: string, part: StoredPart): Promise<void> {
  await tx.run(sql`DELETE FROM stored_bytes WHERE account_id = ${account_id} AND part = ${part}`);
}

/** Part of a transaction: subtracts bytes, unless the counter itself is gone. */
export async function releaseStored(
  tx: Tx,
  account_id: string,
  part: StoredPart,
  bytes: number,
): Promise<void> {
  await tx.run(
    sql`UPDATE stored_bytes SET bytes = bytes - ${bytes}
        WHERE account_id = ${account_id} AND part = ${part}`,
  );
}

/** Sums deleted rows by a key and sorts them, so that transactions lock in one order. */
export function sumBy<T extends { stored_bytes: number }>(
  rows: readonly T[],
  keyOf: (row: T) => string,
): [key: string, bytes: number][] {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.stored_bytes);
  return [...sums]
    .filter(([, bytes]) => bytes > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

export const storageStore = store(
  "storage",
  {
    find: (db, account_id: string) => findStored(db, account_id),
    list: (db) =>
      db.all(
        AccountBytes,
        sql`SELECT account_id, SUM(bytes) AS bytes FROM stored_bytes
            GROUP BY account_id ORDER BY account_id`,
      ),
  },
  {},
);

/** Part of a transaction: deletes every counter of an account. */
export async function dropAllStored(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM stored_bytes WHERE account_id = ${account_id}`);
}
