// Gives events that wait to the endpoints that selected them: each event once, in order.
import { type Static, Type } from "@sinclair/typebox";
import { createInsertion, splitRows, sql, type Tx } from "../../platform/database/index.ts";
import { countOn } from "../../platform/ids.ts";
import { listPending, type OutboxRow, settleEvent } from "../../platform/outbox/store.ts";
import { Row, writeRow } from "../../platform/shape.ts";
import { countStored, ROW_BYTES } from "../../platform/storage/store.ts";
import { DeliveryRow, LOST } from "../delivery.ts";

export interface FanOut {
  /** Events at most. */
  limit: number;
  /** A fresh id: the deliveries' are counted on from it. */
  first_id: string;
  now: number;
  /** Deliveries of the account that may wait. */
  waiting_max: number;
}

/** Where one event has many endpoints, fewer events go into one transaction. */
const DELIVERIES_AT_ONCE = 1_000;

const Receiver = Type.Object({
  id: Type.String(),
  events: Type.Array(Type.String()),
  pending_deliveries: Type.Integer(),
});
type Receiver = Static<typeof Receiver>;

/**
 * A part: gives the oldest of what waits of an account to its enabled endpoints as they are now;
 * false: more may wait. Beyond the limit a delivery is stored as failed, never lost.
 */
export async function fanOutAccount(
  tx: Tx,
  account_id: string,
  { limit, first_id, now, waiting_max }: FanOut,
): Promise<boolean> {
  const events = await listPending(tx, account_id, limit);
  if (events.length === 0) return true;
  const receivers = await listReceivers(tx, account_id);
  const made: DeliveryRow[] = [];
  let waiting = receivers.reduce((sum, one) => sum + one.pending_deliveries, 0);
  let given = 0;
  for (const event of events) {
    if (made.length >= DELIVERIES_AT_ONCE) break;
    for (const { id: webhook_id, events: selected } of receivers) {
      if (!selected.includes(event.type)) continue;
      const id = countOn(first_id, made.length);
      const delivery = makeDelivery({ id, webhook_id, event, kind: "scheduled", now });
      // agents.errors.deliveries_limit
      const isTooMuch = ++waiting > waiting_max;
      made.push(isTooMuch ? fail(delivery, LOST.deliveries_limit, now) : delivery);
    }
    await settleEvent(tx, event.id);
    given++;
  }
  await addDeliveries(tx, made);
  return events.length < limit && given === events.length;
}

function listReceivers(tx: Tx, account_id: string): Promise<Receiver[]> {
  return tx.all(
    Receiver,
    sql`SELECT id, events, pending_deliveries FROM webhook_endpoints
        WHERE account_id = ${account_id} AND status = 'enabled' ORDER BY created_at, id`,
  );
}

interface NewDelivery {
  id: string;
  webhook_id: string;
  event: Pick<OutboxRow, "id" | "type" | "account_id">;
  kind: DeliveryRow["kind"];
  now: number;
}

/** Due at once. */
export function makeDelivery({ id, webhook_id, event, kind, now }: NewDelivery): DeliveryRow {
  return {
    ...{ id, webhook_id, event_id: event.id, event_type: event.type, status: "pending" },
    ...{ attempt_count: 0, next_attempt_at: now, last_response_status: null, last_error: null },
    ...{ created_at: now, completed_at: null, account_id: event.account_id },
    ...{ kind, tries: 0, lane: 0, epoch: 0 },
  };
}

function fail(delivery: DeliveryRow, last_error: string, now: number): DeliveryRow {
  return { ...delivery, status: "failed", next_attempt_at: null, last_error, completed_at: now };
}

/** A delivery stands in five indexes; its attempts are counted as they are made. */
export const DELIVERY_BYTES = 3 * ROW_BYTES;
const CountedRow = Row(DeliveryRow, { stored_bytes: Type.Integer() });
const insertDeliveries = createInsertion(CountedRow, "INSERT INTO deliveries", "");

/** A part: writes new deliveries, counts those that wait, and says that they are due. */
export async function addDeliveries(tx: Tx, rows: readonly DeliveryRow[]): Promise<void> {
  for (const group of splitRows(rows)) {
    const counted = group.map((row) => ({
      ...row,
      stored_bytes: DELIVERY_BYTES,
    }));
    await tx.run(insertDeliveries(counted.map((row) => writeRow(CountedRow, row))));
  }
  for (const [webhook_id, group] of Map.groupBy(rows, (row) => row.webhook_id)) {
    const bytes = group.length * DELIVERY_BYTES;
    await countStored(tx, group[0]!.account_id, `webhook ${webhook_id}`, bytes);
  }
  const waiting = new Map<string, number>();
  for (const { webhook_id, status } of rows) {
    if (status === "pending") waiting.set(webhook_id, (waiting.get(webhook_id) ?? 0) + 1);
  }
  for (const [id, count] of waiting) await addPending(tx, id, count);
}

/** A part: so many more deliveries of an endpoint wait, and are due. */
export async function addPending(tx: Tx, webhook_id: string, count: number): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET pending_deliveries = pending_deliveries + ${count}
        WHERE id = ${webhook_id}`,
  );
  tx.tell("webhooks.due", webhook_id);
}
