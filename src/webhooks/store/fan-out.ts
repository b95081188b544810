// Turns pending events into deliveries for the endpoints that selected them, in order.
import { type Static, Type } from "@sinclair/typebox";
import { createInsertion, inLockOrder, splitRows, sql, type Tx } from "../../database/index.ts";
import { listPending, type OutboxRow, settleEvent } from "../../outbox/store.ts";
import { countOn } from "../../platform/ids.ts";
import { Row, writeRow } from "../../platform/schema.ts";
import { countStored, ROW_BYTES } from "../../storage/store.ts";
import { DeliveryRow, FIRST_ATTEMPTS, LOST } from "../delivery.ts";

export interface FanOutBatch {
  limit: number;
  /** Fresh id; the deliveries get it and its successors. */
  firstId: string;
  now: number;
  waitingMax: number;
}

/** The write only fanned out a batch of older events and has to be repeated. */
export interface Backlog {
  kind: "backlog";
}
export const BACKLOG: Backlog = { kind: "backlog" };

const DELIVERIES_A_BATCH = 1_000;

const Receiver = Type.Object({
  id: Type.String(),
  events: Type.Array(Type.String()),
  pending_deliveries: Type.Integer(),
});
type Receiver = Static<typeof Receiver>;

/**
 * Part of a transaction: fans out the oldest pending events of an account; false: more may be
 * pending. Beyond the account's limit a delivery is stored as failed, never lost.
 */
export async function fanOutAccount(
  tx: Tx,
  accountId: string,
  { limit, firstId, now, waitingMax }: FanOutBatch,
): Promise<boolean> {
  const events = await listPending(tx, accountId, limit);
  if (events.length === 0) return true;
  const receivers = await listReceivers(tx, accountId);
  const deliveries: DeliveryRow[] = [];
  let waiting = receivers.reduce((sum, { pending_deliveries }) => sum + pending_deliveries, 0);
  let done = 0;
  for (const event of events) {
    if (deliveries.length >= DELIVERIES_A_BATCH) break;
    for (const { id: webhook_id, events: selected } of receivers) {
      if (!selected.includes(event.type)) continue;
      const id = countOn(firstId, deliveries.length);
      const delivery = makeDelivery({ id, webhook_id, event, kind: "scheduled", now });
      // agents.errors.deliveries_limit
      const isTooMuch = ++waiting > waitingMax;
      deliveries.push(isTooMuch ? fail(delivery, LOST.deliveries_limit, now) : delivery);
    }
    await settleEvent(tx, event.id);
    done++;
  }
  await addDeliveries(tx, deliveries);
  return events.length < limit && done === events.length;
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

export function makeDelivery({ id, webhook_id, event, kind, now }: NewDelivery): DeliveryRow {
  return {
    id,
    webhook_id,
    event_id: event.id,
    event_type: event.type,
    status: "pending",
    attempt_count: 0,
    next_attempt_at: now,
    last_response_status: null,
    last_error: null,
    created_at: now,
    completed_at: null,
    account_id: event.account_id,
    kind,
    tries: 0,
    lane: FIRST_ATTEMPTS,
    epoch: 0,
  };
}

function fail(delivery: DeliveryRow, last_error: string, now: number): DeliveryRow {
  return { ...delivery, status: "failed", next_attempt_at: null, last_error, completed_at: now };
}

/** Estimate: a delivery and its five indexes take about three rows; attempts are counted later. */
export const DELIVERY_BYTES = 3 * ROW_BYTES;
const CountedRow = Row(DeliveryRow, { stored_bytes: Type.Integer() });
const insertDeliveries = createInsertion(CountedRow, "INSERT INTO deliveries", "");

/** Part of a transaction: writes new deliveries, counts the pending ones and announces them. */
export async function addDeliveries(tx: Tx, rows: readonly DeliveryRow[]): Promise<void> {
  for (const group of splitRows(rows)) {
    const counted = group.map((row) => ({ ...row, stored_bytes: DELIVERY_BYTES }));
    await tx.run(insertDeliveries(counted.map((row) => writeRow(CountedRow, row))));
  }
  const groups = Map.groupBy(rows, (row) => row.webhook_id);
  for (const [webhook_id, group] of inLockOrder(groups)) {
    const waiting = group.filter(({ status }) => status === "pending");
    if (waiting.length > 0) await addPending(tx, webhook_id, waiting.length);
    const bytes = group.length * DELIVERY_BYTES;
    // Behind the endpoint, as where results are settled.
    await countStored(tx, group[0]!.account_id, `webhook ${webhook_id}`, bytes);
  }
}

/** Part of a transaction: counts more pending deliveries of an endpoint and announces them. */
export async function addPending(tx: Tx, webhook_id: string, count: number): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET pending_deliveries = pending_deliveries + ${count}
        WHERE id = ${webhook_id}`,
  );
  tx.tell("webhooks.due", webhook_id);
}
