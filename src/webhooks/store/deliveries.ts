// Deliveries in the database as callers see them: listed, tested, asked for again.
import { Type } from "@sinclair/typebox";
import { type Db, none, type Sql, sql, type Tx } from "../../platform/database/index.ts";
import { findEvent, type Happened, tellOne } from "../../platform/outbox/store.ts";
import { refuse } from "../../platform/refusal.ts";
import { requireStorage } from "../../platform/storage/store.ts";
import {
  ATTEMPTS_MAX,
  AttemptRow,
  DELIVERY_STATUSES,
  DeliveryRow,
  type DeliveryStatus,
} from "../delivery.ts";
import { type EndpointRow, EVENT_TYPES, type WebhookEventType } from "../endpoint.ts";
import { findOwn } from "./endpoints.ts";
import { addDeliveries, addPending, DELIVERY_BYTES, makeDelivery } from "./fan-out.ts";

/** What of an endpoint's deliveries is wanted; null: whatever. */
export interface DeliveryFilter {
  webhook_id: string;
  status: DeliveryStatus | null;
  type: WebhookEventType | null;
  /** Only those behind this one in the list. */
  before: { at: number; id: string } | null;
  limit: number;
}

/** What a caller names, and how much may wait. */
export interface Asking extends Pick<EndpointRow, "account_id"> {
  webhook_id: string;
  now: number;
  /** Deliveries of the account that may wait. */
  waiting_max: number;
}

export interface TestAsking extends Asking {
  /** Bytes that the account may store. */
  stored_max: number;
}

/** From one moment to another, both included. */
export interface Span {
  since: number;
  until: number;
}

export interface Recovered {
  queued: number;
  /** No more of the account's may wait, and others are left. */
  is_full: boolean;
  is_done: boolean;
}

const LOST_STATUSES = ["failed", "cancelled"] as const;
/** What was to be seen of a test was seen: nobody wants it afterwards. */
const LOST_TYPES = EVENT_TYPES.filter((type) => type !== "webhook.test");

const Sum = Type.Object({ sum: Type.Integer() });
const Id = Type.Object({ id: Type.String() });

/** Newest first. */
export function listDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const { status, type, before, limit } = filter;
  const statuses = status === null ? DELIVERY_STATUSES : [status];
  const types = type === null ? EVENT_TYPES : [type];
  const behind = before === null ? none : sql`AND (created_at, id) < (${before.at}, ${before.id})`;
  const newest = sql`${behind} ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  return db.all(
    DeliveryRow,
    sql`SELECT deliveries.* FROM (
          ${gather(filter.webhook_id, statuses, types, newest)}
          ORDER BY created_at DESC, id DESC LIMIT ${limit}
        ) AS found CROSS JOIN deliveries WHERE deliveries.id = found.id
        ORDER BY deliveries.created_at DESC, deliveries.id DESC`,
  );
}

/**
 * Of each status and kind the first that are wanted, which an index holds in their order: so none
 * is looked at that is not meant, however many there are.
 */
function gather(
  webhook_id: string,
  statuses: readonly DeliveryStatus[],
  types: readonly string[],
  wanted: Sql,
): Sql {
  const parts = statuses.flatMap((status) =>
    types.map(
      (type) => sql`SELECT id, created_at FROM (
        SELECT id, created_at FROM deliveries WHERE webhook_id = ${webhook_id}
          AND status = ${status} AND event_type = ${type} ${wanted}) AS part`,
    ),
  );
  return parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
}

/** In the order in which they were made. */
export async function listAttempts(db: Db, delivery_id: string): Promise<AttemptRow[]> {
  const latest = await db.all(
    AttemptRow,
    sql`SELECT * FROM delivery_attempts WHERE delivery_id = ${delivery_id}
        ORDER BY number DESC LIMIT ${ATTEMPTS_MAX}`,
  );
  return latest.reverse();
}

/** agents.events.webhook.1: an event for one endpoint alone, and its delivery. */
export async function testEndpoint(
  tx: Tx,
  { webhook_id, account_id, now, waiting_max, stored_max }: TestAsking,
  { event_id, delivery_id }: { event_id: string; delivery_id: string },
): Promise<DeliveryRow> {
  const { id, url } = await requireEnabled(tx, webhook_id, account_id);
  await requireStorage(tx, account_id, DELIVERY_BYTES, stored_max);
  if ((await countRoom(tx, account_id, waiting_max)) === 0) throw refuse("deliveries_limit");
  const about = { id: event_id, account_id, type: "webhook.test" } as const;
  const event: Happened = { ...about, at: now, data: { webhook: { id, url } } };
  const delivery = makeDelivery({ id: delivery_id, webhook_id, event, kind: "test", now });
  await tellOne(tx, event);
  await addDeliveries(tx, [delivery]);
  return delivery;
}

/**
 * agents.events.webhook.3: the same delivery, and so the same event, is due again. One that is
 * being sent is sent once more after that.
 */
export async function replayDelivery(tx: Tx, id: string, asking: Asking): Promise<DeliveryRow> {
  const { webhook_id, account_id, now, waiting_max } = asking;
  await requireEnabled(tx, webhook_id, account_id);
  const found = await findDelivery(tx, id, webhook_id);
  if (!found) throw refuse("delivery_not_found");
  // agents.errors.event_expired
  if (!(await findEvent(tx, found.event_id))) throw refuse("event_expired");
  const isWaiting = found.status === "pending";
  if (!isWaiting && (await countRoom(tx, account_id, waiting_max)) === 0) {
    throw refuse("deliveries_limit");
  }
  await tx.run(sql`UPDATE deliveries SET ${askAgain(now)} WHERE id = ${id}`);
  await addPending(tx, webhook_id, isWaiting ? 0 : 1);
  return (await findDelivery(tx, id, webhook_id))!;
}

/**
 * Asks again for up to `limit` of an endpoint's that failed or were cancelled, the oldest first,
 * for as many as may wait. Those whose event is no longer kept stay what they are, and so do tests.
 */
export async function recoverDeliveries(
  tx: Tx,
  { webhook_id, account_id, now, waiting_max }: Asking,
  { since, until }: Span,
  limit: number,
): Promise<Recovered> {
  await requireEnabled(tx, webhook_id, account_id);
  const room = await countRoom(tx, account_id, waiting_max);
  const wanted = Math.min(limit, room);
  // One more tells whether others are left.
  const within = sql`AND created_at >= ${since} AND created_at <= ${until}
    AND EXISTS (SELECT 1 FROM outbox WHERE outbox.id = deliveries.event_id)
    ORDER BY created_at, id LIMIT ${wanted + 1}`;
  const found = await tx.all(
    Id,
    sql`SELECT id FROM (${gather(webhook_id, LOST_STATUSES, LOST_TYPES, within)}) AS found
        ORDER BY created_at, id LIMIT ${wanted + 1}`,
  );
  const queued = found.slice(0, wanted);
  for (const { id } of queued) {
    await tx.run(sql`UPDATE deliveries SET ${askAgain(now)} WHERE id = ${id}`);
  }
  if (queued.length > 0) await addPending(tx, webhook_id, queued.length);
  const is_done = found.length === queued.length;
  return { queued: queued.length, is_done, is_full: !is_done && wanted === room };
}

/** agents.errors.delivery_not_found: also where it is another endpoint's. */
async function findDelivery(
  db: Db,
  id: string,
  webhook_id: string,
): Promise<DeliveryRow | undefined> {
  const found = await db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`);
  return found?.webhook_id === webhook_id ? found : undefined;
}

/** Whoever has it now does not know of it: see `tries`. */
function askAgain(now: number): Sql {
  return sql`status = 'pending', kind = 'replay', lane = 0, next_attempt_at = ${now},
    tries = CASE WHEN epoch > 0 THEN -1 ELSE 0 END, completed_at = ${null}`;
}

async function requireEnabled(tx: Tx, id: string, account_id: string): Promise<EndpointRow> {
  const found = await findOwn(tx, id, account_id);
  // agents.errors.webhook_not_found
  if (!found) throw refuse("webhook_not_found");
  // agents.errors.endpoint_disabled
  if (found.status === "disabled") throw refuse("endpoint_disabled");
  return found;
}

/** agents.errors.deliveries_limit: how many more of the account's may wait. */
async function countRoom(tx: Tx, account_id: string, waiting_max: number): Promise<number> {
  const waiting = await tx.one(
    Sum,
    sql`SELECT COALESCE(SUM(pending_deliveries), 0) AS sum FROM webhook_endpoints
        WHERE account_id = ${account_id}`,
  );
  return Math.max(0, waiting_max - waiting!.sum);
}
