// What of deliveries is deleted: those that are old, and those whose endpoint is gone.
import { type Static, Type } from "@sinclair/typebox";
import { type Sql, sql, type Tx } from "../../platform/database/index.ts";
import { releaseStored, sumBy } from "../../platform/storage/store.ts";

const Freed = Type.Object({
  webhook_id: Type.String(),
  account_id: Type.String(),
  stored_bytes: Type.Integer(),
});
const Id = Type.Object({ id: Type.String() });

/** Up to `limit` that were over before `until`, the oldest first; how many they were. */
export function sweepOld(tx: Tx, until: number, limit: number): Promise<number> {
  return sweep(
    tx,
    sql`created_at < ${until} AND completed_at < ${until} ORDER BY created_at, id LIMIT ${limit}`,
  );
}

/** Up to `limit` of endpoints that were deleted, whatever their status; how many rows went. */
export async function sweepGone(tx: Tx, limit: number): Promise<number> {
  for (let swept = 0; ; swept++) {
    const gone = await tx.one(Id, sql`SELECT id FROM webhook_endpoints_gone ORDER BY id LIMIT 1`);
    if (!gone || swept >= limit) return swept;
    const left = limit - swept;
    const deleted = await sweep(
      tx,
      sql`webhook_id = ${gone.id} ORDER BY status, event_type, created_at, id LIMIT ${left}`,
    );
    swept += deleted;
    if (deleted === left) return swept;
    await tx.run(sql`DELETE FROM webhook_endpoints_gone WHERE id = ${gone.id}`);
  }
}

/** With their attempts. */
async function sweep(tx: Tx, which: Sql): Promise<number> {
  await tx.run(
    sql`DELETE FROM delivery_attempts
        WHERE delivery_id IN (SELECT id FROM deliveries WHERE ${which})`,
  );
  const freed = await tx.all(
    Freed,
    sql`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE ${which})
        RETURNING webhook_id, account_id, stored_bytes`,
  );
  await release(tx, freed);
  return freed.length;
}

/** The counter of an endpoint that was deleted is gone by then. */
async function release(tx: Tx, freed: readonly Static<typeof Freed>[]): Promise<void> {
  const accounts = new Map(freed.map((row) => [row.webhook_id, row.account_id]));
  for (const [webhook_id, bytes] of sumBy(freed, (row) => row.webhook_id)) {
    await releaseStored(tx, accounts.get(webhook_id)!, `webhook ${webhook_id}`, bytes);
  }
}
