// Who sends what: the deliveries that a process takes, those that it gives back, and what is due.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, type Sql, sql, type Tx } from "../../platform/database/index.ts";
import { OutboxRow } from "../../platform/outbox/store.ts";
import { isAlive } from "../../platform/processes/store.ts";
import { maybe, oneOf } from "../../platform/shape.ts";
import { ATTEMPT_KINDS } from "../delivery.ts";

/** 0: of deliveries that have not been tried; 1: of retries. */
export type LaneNumber = 0 | 1;

/** A delivery that a process has. */
export const Claimed = Type.Object({
  id: Type.String(),
  webhook_id: Type.String(),
  event_id: Type.String(),
  account_id: Type.String(),
  kind: oneOf(ATTEMPT_KINDS, ""),
  tries: Type.Integer(),
  lane: Type.Unsafe<LaneNumber>({ type: "integer" }),
  epoch: Type.Integer(),
});
export type Claimed = Static<typeof Claimed>;

/** How many of an endpoint's deliveries of one lane may be taken now. */
export interface Turn {
  webhook_id: string;
  lane: LaneNumber;
  count: number;
}

/** What is known of an endpoint by what was sent to it. */
const Standing = Type.Object({
  failing_since: maybe(Type.Integer()),
  last_success_at: maybe(Type.Integer()),
});
export type Standing = Static<typeof Standing>;

/** What a turn came to. */
export interface Taken {
  webhook_id: string;
  lane: LaneNumber;
  rows: Claimed[];
  /** When the next of the lane is due, now or later; null: nothing waits. */
  next_at: number | null;
  /** null: nothing is sent to it. */
  standing: Standing | null;
}

const NextAt = Type.Object({ next_attempt_at: Type.Integer() });

/**
 * Gives a process what is due, so many of each lane, the oldest first. None: also when others hold
 * the process for dead.
 */
export async function claim(
  tx: Tx,
  epoch: number,
  turns: readonly Turn[],
  now: number,
): Promise<Taken[]> {
  if (!(await isAlive(tx, epoch))) return [];
  const taken: Taken[] = [];
  for (const turn of turns) taken.push(await take(tx, epoch, turn, now));
  return taken;
}

async function take(tx: Tx, epoch: number, turn: Turn, now: number): Promise<Taken> {
  const { webhook_id, lane, count } = turn;
  const standing = await tx.one(
    Standing,
    sql`SELECT failing_since, last_success_at FROM webhook_endpoints
        WHERE id = ${webhook_id} AND status = 'enabled'`,
  );
  if (!standing) return { webhook_id, lane, rows: [], next_at: null, standing: null };
  const rows = await tx.all(
    Claimed,
    sql`UPDATE deliveries SET epoch = ${epoch}
        WHERE id IN (SELECT id FROM deliveries
          WHERE webhook_id = ${webhook_id} AND lane = ${lane}
            AND status = 'pending' AND epoch = 0 AND next_attempt_at <= ${now}
          ORDER BY next_attempt_at, id LIMIT ${count} ${tx.skipLocked})
        RETURNING *`,
  );
  // Ids ascend with time, as what is due does, save where a clock was wrong.
  rows.sort((one, other) => (one.id < other.id ? -1 : 1));
  const next = await tx.one(
    NextAt,
    sql`SELECT next_attempt_at FROM deliveries
        WHERE webhook_id = ${webhook_id} AND lane = ${lane} AND status = 'pending' AND epoch = 0
        ORDER BY next_attempt_at, id LIMIT 1`,
  );
  return { webhook_id, lane, rows, next_at: next?.next_attempt_at ?? null, standing };
}

/** A delivery and the process that has it. */
export const Held = Type.Object({ id: Type.String(), epoch: Type.Integer() });
export type Held = Static<typeof Held>;

/** Every delivery that a process has, dead or alive. */
export function listHeld(db: Db): Promise<Held[]> {
  return db.all(Held, sql`SELECT id, epoch FROM deliveries WHERE epoch > 0`);
}

const Place = Type.Object({ webhook_id: Type.String(), lane: Claimed.properties.lane });
export type DuePlace = Static<typeof Place>;

/** What a process no longer sends is due as it was; the lanes in which it waits. */
export async function release(tx: Tx, held: readonly Held[]): Promise<DuePlace[]> {
  const places = new Map<string, DuePlace>();
  for (const { id, epoch } of held) {
    const place = await tx.one(
      Place,
      sql`UPDATE deliveries SET epoch = 0, tries = CASE WHEN tries < 0 THEN 0 ELSE tries END
          WHERE id = ${id} AND epoch = ${epoch} RETURNING webhook_id, lane`,
    );
    if (place) places.set(`${place.webhook_id} ${place.lane}`, place);
  }
  for (const { webhook_id } of places.values()) tx.tell("webhooks.due", webhook_id);
  return [...places.values()];
}

const Waiting = Type.Object({
  id: Type.String(),
  ...Standing.properties,
  /** When the first of each lane is due. */
  first_due_at: maybe(Type.Integer()),
  retry_due_at: maybe(Type.Integer()),
  /** And the last. */
  first_far_at: maybe(Type.Integer()),
  retry_far_at: maybe(Type.Integer()),
});
export type Waiting = Static<typeof Waiting>;

/** Endpoints of which something waits, in the order of their ids behind `after`. */
export function listWaiting(db: Db, after: string, limit: number): Promise<Waiting[]> {
  return db.all(
    Waiting,
    sql`SELECT id, failing_since, last_success_at,
          ${findEdge(sql`MIN`, 0)} AS first_due_at, ${findEdge(sql`MIN`, 1)} AS retry_due_at,
          ${findEdge(sql`MAX`, 0)} AS first_far_at, ${findEdge(sql`MAX`, 1)} AS retry_far_at
        FROM webhook_endpoints
        WHERE pending_deliveries > 0 AND status = 'enabled' AND id > ${after}
        ORDER BY id LIMIT ${limit}`,
  );
}

/** One look into the index of what is due, which literals find since it is a partial one. */
function findEdge(edge: Sql, lane: LaneNumber): Sql {
  return sql`(SELECT ${edge}(next_attempt_at) FROM deliveries
    WHERE webhook_id = webhook_endpoints.id AND lane = ${lane}
      AND status = 'pending' AND epoch = 0)`;
}

/** A lane in which something is due later than anything can be: some clock was wrong. */
export interface FarLane extends DuePlace {
  /** The latest that can be. */
  until: number;
}

/** What no right clock can have planned is due now. */
export async function pull(tx: Tx, lanes: readonly FarLane[], now: number): Promise<void> {
  for (const { webhook_id, lane, until } of lanes) {
    await tx.run(
      sql`UPDATE deliveries SET next_attempt_at = ${now}
          WHERE webhook_id = ${webhook_id} AND lane = ${lane}
            AND status = 'pending' AND epoch = 0 AND next_attempt_at > ${until}`,
    );
    tx.tell("webhooks.due", webhook_id);
  }
}

const Sending = Type.Object({
  status: Type.String(),
  epoch: Type.Integer(),
  /** null: the endpoint is gone. */
  endpoint_status: maybe(Type.String()),
  url: maybe(Type.String()),
  updated_at: maybe(Type.Integer()),
  /** null: the event is no longer kept. */
  event_type: maybe(OutboxRow.properties.type),
  event_created_at: maybe(Type.Integer()),
  event_data: maybe(Type.String()),
});
export type Sending = Static<typeof Sending>;

/** What an attempt needs, as it is now; undefined: the delivery is gone. */
export function findSending(db: Db, id: string): Promise<Sending | undefined> {
  return db.one(
    Sending,
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
