// What happened, as it is told outside: written in the transaction of what it reports.
import { type Static, Type } from "@sinclair/typebox";
import { into, sql, store, type Tx } from "../database/index.ts";
import { Timestamp } from "../shape.ts";
import { writeEventData } from "./data.ts";

/** agents.events.webhook.1 */
export type EventType =
  | "run.completed"
  | "run.failed"
  | "approval.requested"
  | "approval.decided"
  | "trigger.fired";

const OutboxRow = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  type: Type.Unsafe<EventType>({ type: "string" }),
  created_at: Timestamp("When it happened."),
  /** JSON as it is sent: these bytes each time. */
  data: Type.String(),
});
type OutboxRow = Static<typeof OutboxRow>;

/** An event before its data is a text. */
export interface Happened {
  id: string;
  account_id: string;
  type: EventType;
  at: number;
  data: Record<string, unknown>;
}

/** A part: writes one event inside the transaction of what it reports. */
export async function tellOutside(tx: Tx, { data, at, ...event }: Happened): Promise<void> {
  const row: OutboxRow = { ...event, created_at: at, data: writeEventData(data) };
  await tx.run(sql`INSERT INTO outbox ${into(OutboxRow, row)}`);
  tx.tell("outbox", event.account_id);
}

export const outboxStore = store(
  "outbox",
  {
    /** Events of an account in the order in which they happened. */
    list: (db, account_id: string) =>
      db.all(
        OutboxRow,
        sql`SELECT * FROM outbox WHERE account_id = ${account_id} ORDER BY created_at, id`,
      ),
  },
  {
    /** Deletes up to `limit` events from before `until`; how many they were. */
    sweep: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM outbox WHERE id IN
              (SELECT id FROM outbox WHERE created_at < ${until}
               ORDER BY created_at LIMIT ${limit})`,
      ),
  },
);
