// Triggers in the order of their next fire: what is due, what comes next, and corrections.
import { Type } from "@sinclair/typebox";
import { type Db, sql, type Tx } from "../../database/index.ts";
import { TriggerRow } from "../trigger.ts";

export interface DueLimit {
  accountId: string;
  limit: number;
}

export interface DuePosition {
  next_fire_at: number;
  id: string;
}

export interface Realignment {
  trigger_id: string;
  /** The value that was read; another value by now stays. */
  from: number;
  to: number | null;
}

const DueAccount = Type.Object({ account_id: Type.String(), first_at: Type.Integer() });
const Next = Type.Object({ next_fire_at: Type.Integer() });

/** Lists the accounts whose triggers may fire: none in a paused installation. */
export async function listDueAccounts(db: Db, now: number): Promise<string[]> {
  const rows = await db.all(
    DueAccount,
    sql`SELECT account_id, MIN(next_fire_at) AS first_at FROM triggers
        WHERE next_fire_at <= ${now}
          AND NOT EXISTS (SELECT 1 FROM wadi_installation WHERE paused_at IS NOT NULL)
        GROUP BY account_id ORDER BY first_at, account_id`,
  );
  return rows.map(({ account_id }) => account_id);
}

export async function listDue(
  db: Db,
  now: number,
  limits: readonly DueLimit[],
): Promise<TriggerRow[]> {
  const found: TriggerRow[] = [];
  for (const { accountId, limit } of limits) {
    const rows = await db.all(
      TriggerRow,
      sql`SELECT * FROM triggers WHERE account_id = ${accountId} AND next_fire_at <= ${now}
          ORDER BY next_fire_at, id LIMIT ${limit}`,
    );
    found.push(...rows);
  }
  return found;
}

export async function findNextDue(db: Db, after: number): Promise<number | undefined> {
  const next = await db.one(
    Next,
    sql`SELECT next_fire_at FROM triggers WHERE next_fire_at > ${after}
        ORDER BY next_fire_at LIMIT 1`,
  );
  return next?.next_fire_at;
}

export function listTimed(db: Db, after: DuePosition, limit: number): Promise<TriggerRow[]> {
  const { next_fire_at, id } = after;
  return db.all(
    TriggerRow,
    sql`SELECT * FROM triggers
        WHERE next_fire_at >= ${next_fire_at} AND (next_fire_at > ${next_fire_at} OR id > ${id})
        ORDER BY next_fire_at, id LIMIT ${limit}`,
  );
}

export async function realign(tx: Tx, changes: readonly Realignment[]): Promise<number> {
  let changed = 0;
  for (const { trigger_id, from, to } of changes) {
    changed += await tx.run(
      sql`UPDATE triggers SET next_fire_at = ${to}
          WHERE id = ${trigger_id} AND next_fire_at = ${from}`,
    );
  }
  return changed;
}
