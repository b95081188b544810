// Retention of runs: deletes old finished runs with their steps, and old idempotency keys.
import { type Static, Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { countStored, sumBy } from "../../../storage/store.ts";

const Aged = Type.Object({
  id: Type.String(),
  created_at: Type.Integer(),
  finished_at: maybe(Type.Integer()),
});

const Freed = Type.Object({
  account_id: Type.String(),
  stored_bytes: Type.Integer(),
});

export interface Swept {
  deleted: number;
  /** Position of the next sweep; null: only younger runs follow. */
  afterId: string | null;
}

/**
 * Deletes runs that finished before `until` among the next `limit`. Walks them by id, which is the
 * order of their starts, so that no start maintains an index for it.
 */
export async function sweepRuns(
  tx: Tx,
  afterId: string,
  until: number,
  limit: number,
): Promise<Swept> {
  const rows = await tx.all(
    Aged,
    sql`SELECT id, created_at, finished_at FROM runs WHERE id > ${afterId}
        ORDER BY id LIMIT ${limit}`,
  );
  const freed: Static<typeof Freed>[] = [];
  for (const { id, finished_at } of rows) {
    if (finished_at === null || finished_at >= until) continue;
    await tx.run(sql`DELETE FROM steps WHERE run_id = ${id}`);
    await tx.run(sql`DELETE FROM tool_outputs WHERE run_id = ${id}`);
    await tx.run(sql`DELETE FROM approvals WHERE run_id = ${id}`);
    freed.push(
      ...(await tx.all(
        Freed,
        sql`DELETE FROM runs WHERE id = ${id} RETURNING account_id, stored_bytes`,
      )),
    );
  }
  for (const [account_id, bytes] of sumBy(freed, (row) => row.account_id)) {
    await countStored(tx, account_id, "runs", -bytes);
  }
  const last = rows.at(-1);
  const isDone = rows.length < limit || last!.created_at >= until;
  return { deleted: freed.length, afterId: isDone ? null : last!.id };
}

export function sweepStarts(tx: Tx, until: number, limit: number): Promise<number> {
  return tx.run(
    sql`DELETE FROM run_starts WHERE (account_id, agent_id, idempotency_key) IN
          (SELECT account_id, agent_id, idempotency_key FROM run_starts
           WHERE created_at <= ${until} ORDER BY created_at LIMIT ${limit})`,
  );
}
