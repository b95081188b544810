// Retention of runs: deletes old finished runs with their steps, and old idempotency keys.
import { type Static, Type } from "@sinclair/typebox";
import {
  type DeletedPart,
  deleteRows,
  deleteTrees,
  sql,
  type Tx,
} from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { countStored, sumBy } from "../../../storage/store.ts";

const Id = Type.Object({ id: Type.String() });
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
    await dropDetails(tx, id);
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

async function dropDetails(tx: Tx, run_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM tool_outputs WHERE run_id = ${run_id}`);
  await tx.run(sql`DELETE FROM run_images WHERE run_id = ${run_id}`);
  await tx.run(sql`DELETE FROM approvals WHERE run_id = ${run_id}`);
}

/** Part of a transaction: deletes runs of an account; a process that executes one loses it. */
export function deleteRuns(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const tree = {
    find: () => tx.one(Id, sql`SELECT id FROM runs WHERE account_id = ${account_id} LIMIT 1`),
    deleteChildren: ({ id }: { id: string }, most: number) =>
      deleteRows(
        tx,
        { table: sql`steps`, key: sql`run_id, seq`, where: sql`run_id = ${id}` },
        most,
      ),
    async deleteParent({ id }: { id: string }) {
      await dropDetails(tx, id);
      await tx.run(sql`DELETE FROM runs WHERE id = ${id}`);
      tx.tell("run", id);
      tx.tell("run.cancel", id);
    },
  };
  return deleteTrees(tree, limit);
}

const SUMS = [
  { table: sql`run_starts`, key: sql`account_id, agent_id, idempotency_key` },
  { table: sql`run_days`, key: sql`account_id, day, agent_id` },
  { table: sql`run_counts`, key: sql`account_id` },
];

/** Part of a transaction: deletes the sums and keys of an account's runs. */
export async function deleteRunSums(
  tx: Tx,
  account_id: string,
  limit: number,
): Promise<DeletedPart> {
  let rows = 0;
  for (const sum of SUMS) {
    const where = sql`account_id = ${account_id}`;
    rows += await deleteRows(tx, { ...sum, where }, limit - rows);
    if (rows >= limit) return { rows, next: "" };
  }
  return { rows, next: null };
}
