// Deliveries in the database: listed, tested, replayed, recovered and swept.
import { type Static, Type } from "@sinclair/typebox";
import { countRows, type Db, none, type Sql, sql, type Tx } from "../../database/index.ts";
import { findEvent, type OutboxEvent, recordEvent } from "../../outbox/store.ts";
import { apiError } from "../../platform/errors.ts";
import { releaseStored, requireStorage, sumBy } from "../../storage/store.ts";
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

export interface DeliveryFilter {
  webhookId: string;
  status?: DeliveryStatus | undefined;
  type?: WebhookEventType | undefined;
  before?: { at: number; id: string } | null;
  limit: number;
}

export interface DeliveryRequest {
  webhookId: string;
  accountId: string;
  now: number;
  waitingMax: number;
}

/** Includes both ends. */
export interface TimeRange {
  since: number;
  until: number;
}

export interface RecoveredBatch {
  queued: number;
  /** `full`: others are left, but no more of the account's may be pending. */
  rest: "none" | "more" | "full";
}

const LOST_STATUSES = ["failed", "cancelled"] as const;
/** Tests are of no use later. */
const LOST_TYPES = EVENT_TYPES.filter((type) => type !== "webhook.test");

const Sum = Type.Object({ sum: Type.Integer() });
const Id = Type.Object({ id: Type.String() });
const Freed = Type.Object({
  webhook_id: Type.String(),
  account_id: Type.String(),
  stored_bytes: Type.Integer(),
});

export function findDelivery(db: Db, id: string): Promise<DeliveryRow | undefined> {
  return db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`);
}

export function listDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const { status, type, before, limit } = filter;
  const statuses = status === undefined ? DELIVERY_STATUSES : [status];
  const types = type === undefined ? EVENT_TYPES : [type];
  const behind = !before ? none : sql`AND (created_at, id) < (${before.at}, ${before.id})`;
  const newest = sql`${behind} ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  return db.all(
    DeliveryRow,
    sql`SELECT deliveries.* FROM (
          ${gather(filter.webhookId, statuses, types, newest)}
          ORDER BY created_at DESC, id DESC LIMIT ${limit}
        ) AS found CROSS JOIN deliveries WHERE deliveries.id = found.id
        ORDER BY deliveries.created_at DESC, deliveries.id DESC`,
  );
}

/** Reads each status and type by itself: so an index yields them in order. */
function gather(
  webhookId: string,
  statuses: readonly DeliveryStatus[],
  types: readonly string[],
  wanted: Sql,
): Sql {
  const parts = statuses.flatMap((status) =>
    types.map(
      (type) => sql`SELECT id, created_at FROM (
        SELECT id, created_at FROM deliveries WHERE webhook_id = ${webhookId}
          AND status = ${status} AND event_type = ${type} ${wanted}) AS part`,
    ),
  );
  return parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
}

export async function listAttempts(db: Db, deliveryId: string): Promise<AttemptRow[]> {
  const latest = await db.all(
    AttemptRow,
    sql`SELECT * FROM delivery_attempts WHERE delivery_id = ${deliveryId}
        ORDER BY number DESC LIMIT ${ATTEMPTS_MAX}`,
  );
  return latest.reverse();
}

/** Maximum rows that a count reads of each type: beyond it a count is a lower bound. */
const COUNTED_MAX = 10_000;

/** Counts an endpoint's deliveries of a status that were created at `since` or later. */
export function countDeliveries(
  db: Db,
  webhookId: string,
  status: DeliveryStatus,
  since: number,
): Promise<number> {
  const wanted = sql`AND created_at >= ${since} LIMIT ${COUNTED_MAX}`;
  return countRows(db, sql`FROM (${gather(webhookId, [status], EVENT_TYPES, wanted)}) AS found`);
}

/** Counts what `recover` would send again, were there room for all. */
export function countLost(db: Db, webhookId: string, range: TimeRange): Promise<number> {
  const wanted = sql`${whichLost(range)} LIMIT ${COUNTED_MAX}`;
  const found = gather(webhookId, LOST_STATUSES, LOST_TYPES, wanted);
  return countRows(db, sql`FROM (${found}) AS found`);
}

/** Without its event a delivery cannot be sent again. */
function whichLost({ since, until }: TimeRange): Sql {
  return sql`AND created_at >= ${since} AND created_at <= ${until}
    AND EXISTS (SELECT 1 FROM outbox WHERE outbox.id = deliveries.event_id)`;
}

/** agents.events.webhook.1: an event for one endpoint alone, and its delivery. */
export async function testEndpoint(
  tx: Tx,
  request: DeliveryRequest,
  fresh: { eventId: string; deliveryId: string; storedMax: number },
): Promise<DeliveryRow> {
  const { webhookId: webhook_id, accountId: account_id, now } = request;
  const { id, url } = await requireEnabled(tx, request);
  await requireStorage(tx, account_id, DELIVERY_BYTES, fresh.storedMax);
  if ((await countFree(tx, request)) === 0) throw apiError("deliveries_limit");
  const data = { webhook: { id, url } };
  const event: OutboxEvent = { id: fresh.eventId, account_id, type: "webhook.test", at: now, data };
  const delivery = makeDelivery({ id: fresh.deliveryId, webhook_id, event, kind: "test", now });
  await recordEvent(tx, event);
  await addDeliveries(tx, [delivery]);
  return delivery;
}

/** agents.events.webhook.3: the same event is due again; one under way is sent once more then. */
export async function replayDelivery(
  tx: Tx,
  id: string,
  request: DeliveryRequest,
): Promise<DeliveryRow> {
  const { webhookId, now } = request;
  await requireEnabled(tx, request);
  const found = await findDelivery(tx, id);
  // agents.errors.delivery_not_found: also where it is another endpoint's.
  if (found?.webhook_id !== webhookId) throw apiError("delivery_not_found");
  // agents.errors.event_expired
  if (!(await findEvent(tx, found.event_id))) throw apiError("event_expired");
  const isPending = found.status === "pending";
  if (!isPending && (await countFree(tx, request)) === 0) throw apiError("deliveries_limit");
  await tx.run(sql`UPDATE deliveries SET ${replay(now)} WHERE id = ${id}`);
  await addPending(tx, webhookId, isPending ? 0 : 1);
  return (await findDelivery(tx, id))!;
}

/** Replays up to `limit` failed or cancelled deliveries, the oldest first, save tests. */
export async function recoverDeliveries(
  tx: Tx,
  request: DeliveryRequest,
  range: TimeRange,
  limit: number,
): Promise<RecoveredBatch> {
  const { webhookId, now } = request;
  await requireEnabled(tx, request);
  const free = await countFree(tx, request);
  const wanted = Math.min(limit, free);
  const within = sql`${whichLost(range)} ORDER BY created_at, id LIMIT ${wanted + 1}`;
  const found = await tx.all(
    Id,
    sql`SELECT id FROM (${gather(webhookId, LOST_STATUSES, LOST_TYPES, within)}) AS found
        ORDER BY created_at, id LIMIT ${wanted + 1}`,
  );
  const queued = found.slice(0, wanted);
  for (const { id } of queued) {
    await tx.run(sql`UPDATE deliveries SET ${replay(now)} WHERE id = ${id}`);
  }
  if (queued.length > 0) await addPending(tx, webhookId, queued.length);
  const isDone = found.length === queued.length;
  const isFull = wanted === free;
  return { queued: queued.length, rest: isDone ? "none" : isFull ? "full" : "more" };
}

/** Marks a claimed delivery, so that it is sent once more; see `tries`. */
function replay(now: number): Sql {
  return sql`status = 'pending', kind = 'replay', lane = 0, next_attempt_at = ${now},
    tries = CASE WHEN epoch > 0 THEN -1 ELSE 0 END, completed_at = ${null}`;
}

async function requireEnabled(
  tx: Tx,
  { webhookId, accountId }: DeliveryRequest,
): Promise<EndpointRow> {
  const found = await findOwn(tx, webhookId, accountId);
  // agents.errors.webhook_not_found
  if (!found) throw apiError("webhook_not_found");
  // agents.errors.endpoint_disabled
  if (found.status === "disabled") throw apiError("endpoint_disabled");
  return found;
}

/** agents.errors.deliveries_limit: how many more of the account's deliveries may be pending. */
async function countFree(tx: Tx, { accountId, waitingMax }: DeliveryRequest): Promise<number> {
  const waiting = await tx.one(
    Sum,
    sql`SELECT COALESCE(SUM(pending_deliveries), 0) AS sum FROM webhook_endpoints
        WHERE account_id = ${accountId}`,
  );
  return Math.max(0, waitingMax - waiting!.sum);
}

/** Deletes deliveries that ended before `until`, the oldest first; counts them. */
export function sweepOld(tx: Tx, until: number, limit: number): Promise<number> {
  return sweep(
    tx,
    sql`created_at < ${until} AND completed_at < ${until} ORDER BY created_at, id LIMIT ${limit}`,
  );
}

/** Deletes up to `limit` rows of deleted endpoints, of any status; returns their number. */
export async function sweepGone(tx: Tx, limit: number): Promise<number> {
  for (let swept = 0; ; swept++) {
    const gone = await tx.one(Id, sql`SELECT id FROM webhook_endpoints_gone ORDER BY id LIMIT 1`);
    if (!gone || swept >= limit) return swept;
    const left = limit - swept;
    const deleted = await sweep(
      tx,
      sql`webhook_id = ${gone.id} ORDER BY status, event_type, created_at, id LIMIT ${left}`,
    );
    swept += deleted;
    if (deleted === left) return swept;
    await tx.run(sql`DELETE FROM webhook_endpoints_gone WHERE id = ${gone.id}`);
  }
}

async function sweep(tx: Tx, which: Sql): Promise<number> {
  await tx.run(
    sql`DELETE FROM delivery_attempts
        WHERE delivery_id IN (SELECT id FROM deliveries WHERE ${which})`,
  );
  const freed = await tx.all(
    Freed,
    sql`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE ${which})
        RETURNING webhook_id, account_id, stored_bytes`,
  );
  await releaseBytes(tx, freed);
  return freed.length;
}

/** The counter of a deleted endpoint is gone by then. */
async function releaseBytes(tx: Tx, freed: readonly Static<typeof Freed>[]): Promise<void> {
  const accounts = new Map(freed.map((row) => [row.webhook_id, row.account_id]));
  for (const [webhook_id, bytes] of sumBy(freed, (row) => row.webhook_id)) {
    await releaseStored(tx, accounts.get(webhook_id)!, `webhook ${webhook_id}`, bytes);
  }
}
