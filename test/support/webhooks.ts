// Endpoints and deliveries for tests, with writes of other processes.
import { Type } from "@sinclair/typebox";
import type { SealedSecret } from "../../src/crypto/store.ts";
import { type Database, into, sql, store } from "../../src/database/index.ts";
import { type OutboxEvent, OutboxRow, recordEvents } from "../../src/outbox/store.ts";
import { AttemptRow, DeliveryRow, type DeliveryStatus } from "../../src/webhooks/delivery.ts";
import { EndpointRow } from "../../src/webhooks/endpoint.ts";
import type { FanOutBatch } from "../../src/webhooks/store/fan-out.ts";
import { BEGIN } from "./runs.ts";

const Id = Type.Object({ id: Type.String() });
const Listener = Type.Object({ account_id: Type.String() });
const Counts = Type.Object({
  id: Type.String(),
  pending_deliveries: Type.Integer(),
  counted: Type.Integer(),
});

/** Writes by other processes to the same rows. */
export const webhookWrites = store(
  "webhook-writes",
  {
    deliveries: (db) => db.all(DeliveryRow, sql`SELECT * FROM deliveries ORDER BY created_at, id`),
    attempts: (db) =>
      db.all(AttemptRow, sql`SELECT * FROM delivery_attempts ORDER BY delivery_id, number`),
    endpoints: (db) => db.all(EndpointRow, sql`SELECT * FROM webhook_endpoints ORDER BY id`),
    gone: (db) => db.all(Id, sql`SELECT id FROM webhook_endpoints_gone ORDER BY id`),
    listeners: async (db) => {
      const rows = await db.all(
        Listener,
        sql`SELECT account_id FROM outbox_listeners ORDER BY account_id`,
      );
      return rows.map(({ account_id }) => account_id);
    },
    waiting: (db) =>
      db.all(OutboxRow, sql`SELECT * FROM outbox WHERE is_pending = 1 ORDER BY created_at, id`),
    /** The counter of each endpoint, and its actual number of waiting deliveries. */
    count: (db) =>
      db.all(
        Counts,
        sql`SELECT id, pending_deliveries, (SELECT COUNT(*) FROM deliveries
              WHERE webhook_id = webhook_endpoints.id AND status = 'pending') AS counted
            FROM webhook_endpoints ORDER BY id`,
      ),
  },
  {
    tell: (tx, happened: OutboxEvent) => recordEvents(tx, happened),
    attempt: async (tx, row: AttemptRow) => {
      await tx.run(sql`INSERT INTO delivery_attempts ${into(AttemptRow, row)}`);
    },
    take: async (tx, id: string, epoch: number) => {
      await tx.run(sql`UPDATE deliveries SET epoch = ${epoch} WHERE id = ${id}`);
    },
    settle: async (tx, id: string, status: DeliveryStatus, at: number) => {
      const settled = await tx.one(
        Type.Object({ webhook_id: Type.String() }),
        sql`UPDATE deliveries SET status = ${status}, next_attempt_at = ${null},
              completed_at = ${at}, attempt_count = attempt_count + 1, epoch = 0
            WHERE id = ${id} AND status = 'pending' RETURNING webhook_id`,
      );
      if (!settled) return;
      await tx.run(
        sql`UPDATE webhook_endpoints SET pending_deliveries = pending_deliveries - 1
            WHERE id = ${settled.webhook_id}`,
      );
    },
    failOften: async (tx, id: string, failing_since: number) => {
      await tx.run(
        sql`UPDATE webhook_endpoints SET failures = 9, failing_since = ${failing_since}
            WHERE id = ${id}`,
      );
    },
    bury: async (tx, epoch: number, at: number) => {
      await tx.run(sql`UPDATE processes SET ended_at = ${at} WHERE epoch = ${epoch}`);
    },
    forget: async (tx, event_id: string) => {
      await tx.run(sql`DELETE FROM outbox WHERE id = ${event_id}`);
    },
  },
);
export const bindWebhookWrites = (database: Database) => database.bind(webhookWrites);

export const MANY = 1_000;

export function makeEndpoint(id: string, fields: Partial<EndpointRow> = {}): EndpointRow {
  return {
    ...{ id, account_id: "a-1", url: `https://${id}.example.com/hooks`, description: null },
    ...{ events: ["run.completed"], status: "enabled", disabled_reason: null, disabled_at: null },
    ...{ failing_since: null, last_success_at: null, last_failure_at: null },
    ...{ previous_secret_expires_at: null, pending_deliveries: 0, failures: 0, secret_number: 1 },
    ...{ last_answer_at: null, last_answer_status: null, last_answer_error: null },
    ...{ created_at: BEGIN, updated_at: BEGIN },
    ...fields,
  };
}

export const sealOf = (
  { id, account_id }: Pick<EndpointRow, "id" | "account_id">,
  sealed = `sealed of ${id}`,
): SealedSecret => ({
  ...{ kind: "webhook", row_id: id, account_id, sealed, key_id: "k-1", set_at: BEGIN },
});

/** A number as a UUID. */
export const idOf = (number: number) =>
  `01920000-0000-7000-8000-${(number * 4_096).toString(16).padStart(12, "0")}`;

export const makeFan = (number: number, fields: Partial<FanOutBatch> = {}): FanOutBatch => ({
  ...{ limit: MANY, firstId: idOf(number), now: BEGIN + 100, waitingMax: MANY },
  ...fields,
});

export const makeHappened = (id: string, fields: Partial<OutboxEvent> = {}): OutboxEvent => ({
  ...{ id, account_id: "a-1", type: "run.completed", at: BEGIN, data: { run: { id } } },
  ...fields,
});

export const makeAttempt = (delivery_id: string, number: number): AttemptRow => ({
  ...{ delivery_id, number, kind: "scheduled", started_at: BEGIN + number, duration_ms: 5 },
  ...{ response_status: 500, response_body: "no", error: "It answered 500." },
  ...{ url: "https://w-1.example.com/hooks", signatures: 1 },
});
