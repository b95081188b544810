// What is due by its schedule, when the next one is, and schedules that are put right.
import { Type } from "@sinclair/typebox";
import { type Db, sql, type Tx } from "../../database/index.ts";
import { TriggerRow } from "../trigger.ts";

/** How many of an account's triggers may fire now. */
export interface DueTurn {
  account_id: string;
  triggers_max: number;
}

/** A place in the order in which triggers are due. */
export interface DuePosition {
  next_fire_at: number;
  id: string;
}

/** Another instant to go on with; `to` null: it never fires again. */
export interface Realignment {
  trigger_id: string;
  /** What it was when this was reckoned: another one by now stays. */
  from: number;
  to: number | null;
}

const DueAccount = Type.Object({ account_id: Type.String(), first_at: Type.Integer() });
const Next = Type.Object({ next_fire_at: Type.Integer() });

/** Accounts that have something due, those that wait longest first. */
export async function listDueAccounts(db: Db, now: number): Promise<string[]> {
  const rows = await db.all(
    DueAccount,
    sql`SELECT account_id, MIN(next_fire_at) AS first_at FROM triggers
        WHERE next_fire_at <= ${now} GROUP BY account_id ORDER BY first_at, account_id`,
  );
  return rows.map(({ account_id }) => account_id);
}

/** Of each account as many as its turn allows, those that wait longest first. */
export async function listDue(
  db: Db,
  now: number,
  turns: readonly DueTurn[],
): Promise<TriggerRow[]> {
  const found: TriggerRow[] = [];
  for (const { account_id, triggers_max } of turns) {
    const rows = await db.all(
      TriggerRow,
      sql`SELECT * FROM triggers WHERE account_id = ${account_id} AND next_fire_at <= ${now}
          ORDER BY next_fire_at, id LIMIT ${triggers_max}`,
    );
    found.push(...rows);
  }
  return found;
}

/** The first instant after this one at which a trigger is due; undefined: there is none. */
export async function findNextDue(db: Db, after: number): Promise<number | undefined> {
  const next = await db.one(
    Next,
    sql`SELECT next_fire_at FROM triggers WHERE next_fire_at > ${after}
        ORDER BY next_fire_at LIMIT 1`,
  );
  return next?.next_fire_at;
}

/** A page of triggers with an instant to come, in the order in which they are due. */
export function listTimed(db: Db, after: DuePosition, limit: number): Promise<TriggerRow[]> {
  const { next_fire_at, id } = after;
  return db.all(
    TriggerRow,
    sql`SELECT * FROM triggers
        WHERE next_fire_at >= ${next_fire_at} AND (next_fire_at > ${next_fire_at} OR id > ${id})
        ORDER BY next_fire_at, id LIMIT ${limit}`,
  );
}

/** Each by itself goes on with another instant; how many did. */
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
