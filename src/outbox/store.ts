// Events for receivers outside, written in the transaction of what they report.
import { type Static, Type } from "@sinclair/typebox";
import {
  type Db,
  type DeletedPart,
  deleteWalking,
  type Sql,
  sql,
  store,
  type Tx,
  type WalkPart,
} from "../database/index.ts";
import { Timestamp } from "../platform/schema.ts";
import { countStored, measureRow, sumBy } from "../storage/store.ts";
import { writeEventData } from "./event-data.ts";

/** agents.events.webhook.1 */
export type EventType =
  | "run.completed"
  | "run.failed"
  | "approval.requested"
  | "approval.decided"
  | "trigger.fired"
  | "limit.reached"
  | "webhook.test";

export const OutboxRow = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  type: Type.Unsafe<EventType>({ type: "string" }),
  created_at: Timestamp("When it happened."),
  data: Type.String(),
  is_pending: Type.Boolean(),
});
export type OutboxRow = Static<typeof OutboxRow>;

const Freed = Type.Object({
  account_id: Type.String(),
  stored_bytes: Type.Integer(),
});

export interface OutboxEvent {
  id: string;
  account_id: string;
  type: EventType;
  at: number;
  data: Record<string, unknown>;
}

/** Part of a transaction: writes an event, pending where the account listens. */
export async function recordEvents(tx: Tx, happened: OutboxEvent): Promise<void> {
  const { account_id } = happened;
  const listeners = sql`SELECT 1 FROM outbox_listeners WHERE account_id = ${account_id}`;
  const isPending = await addEvent(
    tx,
    happened,
    sql`CASE WHEN EXISTS (${listeners}) THEN 1 ELSE 0 END`,
  );
  if (isPending) tx.tell("outbox", account_id);
}

/** Part of a transaction: writes an event that its one receiver gets in the same transaction. */
export async function recordEvent(tx: Tx, happened: OutboxEvent): Promise<void> {
  await addEvent(tx, happened, sql`0`);
}

const Pending = Type.Object({ is_pending: Type.Boolean() });

async function addEvent(
  tx: Tx,
  { id, account_id, type, data, at }: OutboxEvent,
  isPending: Sql,
): Promise<boolean> {
  const text = writeEventData(data);
  const stored_bytes = measureRow(text);
  const [added] = await Promise.all([
    tx.one(
      Pending,
      sql`INSERT INTO outbox (id, account_id, type, created_at, data, stored_bytes, is_pending)
          VALUES (${id}, ${account_id}, ${type}, ${at}, ${text}, ${stored_bytes}, ${isPending})
          RETURNING is_pending`,
    ),
    countStored(tx, account_id, "events", stored_bytes),
  ]);
  return added!.is_pending;
}

/** Part of a transaction: makes an account's later events pending, or no longer so. */
export async function setAccountListening(
  tx: Tx,
  account_id: string,
  listens: boolean,
): Promise<void> {
  if (listens) {
    await tx.run(
      sql`INSERT INTO outbox_listeners (account_id) VALUES (${account_id})
          ON CONFLICT (account_id) DO NOTHING`,
    );
    return;
  }
  await tx.run(sql`DELETE FROM outbox_listeners WHERE account_id = ${account_id}`);
}

/** Part of a transaction: lists up to `limit` pending events of an account, oldest first. */
export function listPending(db: Db, account_id: string, limit: number): Promise<OutboxRow[]> {
  return db.all(
    OutboxRow,
    sql`SELECT * FROM outbox WHERE account_id = ${account_id} AND is_pending = 1
        ORDER BY created_at, id LIMIT ${limit}`,
  );
}

export async function settleEvent(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`UPDATE outbox SET is_pending = 0 WHERE id = ${id}`);
}

export function findEvent(db: Db, id: string): Promise<OutboxRow | undefined> {
  return db.one(OutboxRow, sql`SELECT * FROM outbox WHERE id = ${id}`);
}

const Account = Type.Object({ account_id: Type.String() });

export const outboxStore = store(
  "outbox",
  {
    list: (db, account_id: string) =>
      db.all(
        OutboxRow,
        sql`SELECT * FROM outbox WHERE account_id = ${account_id} ORDER BY created_at, id`,
      ),
    listWaiting: async (db) => {
      const rows = await db.all(
        Account,
        sql`SELECT DISTINCT account_id FROM outbox WHERE is_pending = 1`,
      );
      return rows.map(({ account_id }) => account_id);
    },
  },
  {
    /** Deletes up to `limit` events before `until`, except pending ones; returns how many. */
    sweep: async (tx, until: number, limit: number) => {
      const freed = await tx.all(
        Freed,
        sql`DELETE FROM outbox WHERE id IN
              (SELECT id FROM outbox WHERE created_at < ${until} AND is_pending = 0
               ORDER BY created_at LIMIT ${limit})
            RETURNING account_id, stored_bytes`,
      );
      for (const [account_id, bytes] of sumBy(freed, (row) => row.account_id)) {
        await countStored(tx, account_id, "events", -bytes);
      }
      return freed.length;
    },
  },
);

/** Part of a transaction: deletes an account's events among the next ones of all. */
export function deleteEvents(tx: Tx, part: WalkPart): Promise<DeletedPart> {
  return deleteWalking(tx, sql`outbox`, part);
}
