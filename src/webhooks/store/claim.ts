// Which process sends what: deliveries that are claimed, released, or due.
import { type Static, Type } from "@sinclair/typebox";
import { mayClaim } from "../../cluster/store.ts";
import { countRows, type Db, type Sql, sql, type Tx } from "../../database/index.ts";
import { OutboxRow } from "../../outbox/store.ts";
import { maybe } from "../../platform/schema.ts";
import { DeliveryRow, type QueueNumber } from "../delivery.ts";

export interface QueueKey {
  webhookId: string;
  queue: QueueNumber;
}

export const ClaimedDelivery = Type.Pick(DeliveryRow, [
  ...(["id", "webhook_id", "event_id", "account_id"] as const),
  ...(["kind", "tries", "lane", "epoch"] as const),
]);
export type ClaimedDelivery = Static<typeof ClaimedDelivery>;

export interface ClaimRequest extends QueueKey {
  count: number;
}

export interface ClaimResult {
  rows: ClaimedDelivery[];
  /** When the next of the queue is due; null: nothing waits, or nothing is sent to the endpoint. */
  nextDueAt: number | null;
}

/** Result for a disabled endpoint, and for a process that may claim nothing. */
export const NOTHING_CLAIMED: ClaimResult = { rows: [], nextDueAt: null };

const NextAt = Type.Object({ next_attempt_at: Type.Integer() });

/** Claims the oldest due deliveries: a result for each request, or none while it may not claim. */
export async function claim(
  tx: Tx,
  epoch: number,
  requests: readonly ClaimRequest[],
  now: number,
): Promise<ClaimResult[]> {
  if (!(await mayClaim(tx, epoch))) return [];
  const results: ClaimResult[] = [];
  for (const request of requests) results.push(await claimQueue(tx, epoch, request, now));
  return results;
}

async function claimQueue(
  tx: Tx,
  epoch: number,
  { webhookId, queue, count }: ClaimRequest,
  now: number,
): Promise<ClaimResult> {
  const enabled = sql`FROM webhook_endpoints WHERE id = ${webhookId} AND status = 'enabled'`;
  if ((await countRows(tx, enabled)) === 0) return NOTHING_CLAIMED;
  const rows = await tx.all(
    ClaimedDelivery,
    // Materialized: PostgreSQL may run a subquery again, and so claim more than its limit.
    sql`WITH due AS MATERIALIZED (SELECT id FROM deliveries
          WHERE webhook_id = ${webhookId} AND lane = ${queue}
            AND status = 'pending' AND epoch = 0 AND next_attempt_at <= ${now}
          ORDER BY next_attempt_at, id LIMIT ${count} ${tx.skipLocked})
        UPDATE deliveries SET epoch = ${epoch} WHERE id IN (SELECT id FROM due)
        RETURNING *`,
  );
  // RETURNING has no order; ids ascend with time.
  rows.sort((one, other) => (one.id < other.id ? -1 : 1));
  const next = await tx.one(
    NextAt,
    sql`SELECT next_attempt_at FROM deliveries
        WHERE webhook_id = ${webhookId} AND lane = ${queue} AND status = 'pending' AND epoch = 0
        ORDER BY next_attempt_at, id LIMIT 1`,
  );
  return { rows, nextDueAt: next?.next_attempt_at ?? null };
}

export const HeldDelivery = Type.Object({ id: Type.String(), epoch: Type.Integer() });
export type HeldDelivery = Static<typeof HeldDelivery>;

export function listHeld(db: Db): Promise<HeldDelivery[]> {
  return db.all(HeldDelivery, sql`SELECT id, epoch FROM deliveries WHERE epoch > 0`);
}

const Released = Type.Pick(ClaimedDelivery, ["webhook_id", "lane"]);

/** Puts claimed deliveries back, due as they were; returns the queues in which they wait. */
export async function release(tx: Tx, held: readonly HeldDelivery[]): Promise<QueueKey[]> {
  const keys = new Map<string, QueueKey>();
  for (const { id, epoch } of held) {
    const released = await tx.one(
      Released,
      sql`UPDATE deliveries SET epoch = 0, tries = CASE WHEN tries < 0 THEN 0 ELSE tries END
          WHERE id = ${id} AND epoch = ${epoch} RETURNING webhook_id, lane`,
    );
    if (!released) continue;
    const { webhook_id: webhookId, lane: queue } = released;
    keys.set(`${webhookId} ${queue}`, { webhookId, queue });
  }
  for (const { webhookId } of keys.values()) tx.tell("webhooks.due", webhookId);
  return [...keys.values()];
}

const WaitingEndpoint = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  failing_since: maybe(Type.Integer()),
  last_success_at: maybe(Type.Integer()),
  first_due_at: maybe(Type.Integer()),
  retry_due_at: maybe(Type.Integer()),
  first_far_at: maybe(Type.Integer()),
  retry_far_at: maybe(Type.Integer()),
});
export type WaitingEndpoint = Static<typeof WaitingEndpoint>;

/** Lists enabled endpoints with pending deliveries, in the order of their ids behind `after`. */
export function listWaiting(db: Db, after: string, limit: number): Promise<WaitingEndpoint[]> {
  return db.all(
    WaitingEndpoint,
    selectWaiting(sql`pending_deliveries > 0 AND id > ${after} ORDER BY id LIMIT ${limit}`),
  );
}

export function findWaiting(db: Db, id: string): Promise<WaitingEndpoint | undefined> {
  return db.one(WaitingEndpoint, selectWaiting(sql`pending_deliveries > 0 AND id = ${id}`));
}

function selectWaiting(condition: Sql): Sql {
  return sql`SELECT id, account_id, failing_since, last_success_at,
      ${findEdge(sql`MIN`, 0)} AS first_due_at, ${findEdge(sql`MIN`, 1)} AS retry_due_at,
      ${findEdge(sql`MAX`, 0)} AS first_far_at, ${findEdge(sql`MAX`, 1)} AS retry_far_at
    FROM webhook_endpoints WHERE status = 'enabled' AND ${condition}`;
}

/** Reads one entry of the index of what is due; it is partial, so its conditions are literals. */
function findEdge(edge: Sql, queue: QueueNumber): Sql {
  return sql`(SELECT ${edge}(next_attempt_at) FROM deliveries
    WHERE webhook_id = webhook_endpoints.id AND lane = ${queue}
      AND status = 'pending' AND epoch = 0)`;
}

/** A queue in which something is due later than `until`, the latest that can be planned. */
export interface FarQueue extends QueueKey {
  until: number;
}

/** Makes due now what only a wrong clock can have planned. */
export async function pull(tx: Tx, queues: readonly FarQueue[], now: number): Promise<void> {
  for (const { webhookId, queue, until } of queues) {
    await tx.run(
      sql`UPDATE deliveries SET next_attempt_at = ${now}
          WHERE webhook_id = ${webhookId} AND lane = ${queue}
            AND status = 'pending' AND epoch = 0 AND next_attempt_at > ${until}`,
    );
    tx.tell("webhooks.due", webhookId);
  }
}

/** Columns are null for a deleted endpoint or event. */
const AttemptInput = Type.Object({
  status: Type.String(),
  epoch: Type.Integer(),
  endpoint_status: maybe(Type.String()),
  url: maybe(Type.String()),
  updated_at: maybe(Type.Integer()),
  event_type: maybe(OutboxRow.properties.type),
  event_created_at: maybe(Type.Integer()),
  event_data: maybe(Type.String()),
});
export type AttemptInput = Static<typeof AttemptInput>;

export function findSending(db: Db, id: string): Promise<AttemptInput | undefined> {
  return db.one(
    AttemptInput,
    sql`SELECT deliveries.status, deliveries.epoch,
          webhook_endpoints.status AS endpoint_status, webhook_endpoints.url,
          webhook_endpoints.updated_at,
          outbox.type AS event_type, outbox.created_at AS event_created_at,
          outbox.data AS event_data
        FROM deliveries
        LEFT JOIN webhook_endpoints ON webhook_endpoints.id = deliveries.webhook_id
        LEFT JOIN outbox ON outbox.id = deliveries.event_id
        WHERE deliveries.id = ${id}`,
  );
}
