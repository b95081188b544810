// Endpoints in the database: created, changed, rotated, disabled, deleted.
import { Type } from "@sinclair/typebox";
import { dropSecret, putSecret, type SealedSecret } from "../../crypto/store.ts";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteTrees,
  into,
  none,
  requireCapacity,
  sql,
  type Tx,
} from "../../database/index.ts";
import { setAccountListening } from "../../outbox/store.ts";
import { dropStored } from "../../storage/store.ts";
import { EndpointRow, type OwnEndpoint } from "../endpoint.ts";
import { BACKLOG, type Backlog, type FanOutBatch, fanOutAccount } from "./fan-out.ts";

export type EndpointChange = Partial<
  Pick<EndpointRow, "url" | "events" | "description" | "status">
>;

/** A new secret, bound to the number of the secret that it replaces. */
export interface SecretReplacement {
  secret: SealedSecret;
  seenNumber: number;
  previousExpiresAt: number | null;
}

export interface FailedEndpoint {
  webhookId: string;
  reason: "gone" | "failing";
  /** Version of the endpoint that failed. */
  updatedAt: number;
}

const Id = Type.Object({ id: Type.String() });

type Written = { kind: "ok"; row: EndpointRow };
type NotFound = { kind: "not_found" };

const Waiting = Type.Object({ deliveries: Type.Integer() });

export function findEndpoint(db: Db, id: string): Promise<EndpointRow | undefined> {
  return db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`);
}

/** agents.authentication.6: an endpoint of another account is not found. */
export async function findOwn(
  db: Db,
  id: string,
  account_id: string,
): Promise<EndpointRow | undefined> {
  const found = await findEndpoint(db, id);
  return found?.account_id === account_id ? found : undefined;
}

/** Newest first; of every account where `account_id` is null. */
export function listEndpoints(db: Db, account_id: string | null): Promise<EndpointRow[]> {
  return db.all(
    EndpointRow,
    sql`SELECT * FROM webhook_endpoints
        ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
        ORDER BY created_at DESC, id DESC`,
  );
}

/** Sums the counters of endpoints; the condition lets a partial index find those that wait. */
export async function countWaiting(db: Db): Promise<number> {
  const found = await db.one(
    Waiting,
    sql`SELECT COALESCE(SUM(pending_deliveries), 0) AS deliveries FROM webhook_endpoints
        WHERE pending_deliveries > 0`,
  );
  return found!.deliveries;
}

/** Creates an endpoint with its secret, once earlier events are fanned out without it. */
export async function createEndpoint(
  tx: Tx,
  row: EndpointRow,
  secret: SealedSecret,
  { endpointsMax, ...batch }: FanOutBatch & { endpointsMax: number },
): Promise<Written | Backlog> {
  const { account_id } = row;
  const rows = sql`FROM webhook_endpoints WHERE account_id = ${account_id}`;
  const message = `The account has ${endpointsMax} endpoints, and may have no more.`;
  // agents.errors.endpoints_limit, agents.limits.run_admission_trigger_endpoint
  await requireCapacity(tx, rows, endpointsMax, "endpoints_limit", message);
  if (!(await fanOutAccount(tx, account_id, batch))) return BACKLOG;
  await tx.run(sql`INSERT INTO webhook_endpoints ${into(EndpointRow, row)}`);
  await putSecret(tx, secret);
  await setAccountListening(tx, account_id, true);
  tx.tell("webhooks.endpoint", row.id);
  return { kind: "ok", row };
}

/** Changes an endpoint, once earlier events are fanned out to it as it was. */
export async function updateEndpoint(
  tx: Tx,
  { id, account_id }: OwnEndpoint,
  change: EndpointChange,
  batch: FanOutBatch,
): Promise<Written | NotFound | Backlog> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return { kind: "not_found" };
  const wanted = { ...found, ...change };
  // Without a change `updated_at` stays, too.
  if (Bun.deepEquals(wanted, found)) return { kind: "ok", row: found };
  const { url, events, description, status } = wanted;
  const isSwitched = status !== found.status;
  if (isSwitched || !Bun.deepEquals(events, found.events)) {
    if (!(await fanOutAccount(tx, account_id, batch))) return BACKLOG;
  }
  await tx.run(
    sql`UPDATE webhook_endpoints SET url = ${url}, events = ${JSON.stringify(events)},
          description = ${description}, updated_at = ${batch.now} WHERE id = ${id}`,
  );
  // Earlier failures belong to the former address.
  if (url !== found.url) {
    await forgetFailures(tx, id);
    await forgetAnswer(tx, id);
  }
  if (isSwitched) {
    if (status === "disabled") await disable(tx, id, "manual", batch.now);
    else await enable(tx, id);
    await updateListener(tx, account_id);
  }
  return announceEndpoint(tx, id);
}

/** agents.resources.webhook_endpoint; `stale`: another rotation came first. */
export async function rotateEndpoint(
  tx: Tx,
  { id, account_id }: OwnEndpoint,
  { secret, seenNumber, previousExpiresAt }: SecretReplacement,
): Promise<Written | NotFound | { kind: "stale" }> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return { kind: "not_found" };
  if (found.secret_number !== seenNumber) return { kind: "stale" };
  await tx.run(
    sql`UPDATE webhook_endpoints SET secret_number = ${seenNumber + 1},
          previous_secret_expires_at = ${previousExpiresAt}, updated_at = ${secret.set_at}
        WHERE id = ${id}`,
  );
  await putSecret(tx, secret);
  return announceEndpoint(tx, id);
}

async function announceEndpoint(tx: Tx, id: string): Promise<Written> {
  tx.tell("webhooks.endpoint", id);
  return { kind: "ok", row: (await findEndpoint(tx, id))! };
}

/** Deletes an endpoint and its secret; its deliveries, perhaps millions, are swept later. */
export async function removeEndpoint(tx: Tx, id: string, account_id: string): Promise<boolean> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return false;
  await tx.run(sql`DELETE FROM webhook_endpoints WHERE id = ${id}`);
  await tx.run(sql`INSERT INTO webhook_endpoints_gone (id) VALUES (${id})`);
  await dropStored(tx, account_id, `webhook ${id}`);
  await dropSecret(tx, "webhook", id);
  await updateListener(tx, account_id);
  tx.tell("webhooks.endpoint", id);
  return true;
}

/** Disables an endpoint that fails, unless it was changed since; `stale`: it was. */
export async function disableEndpoint(
  tx: Tx,
  { webhookId: id, reason, updatedAt }: FailedEndpoint,
  batch: FanOutBatch,
): Promise<{ kind: "ok" | "stale" } | Backlog> {
  const found = await findEndpoint(tx, id);
  if (found?.status !== "enabled" || found.updated_at !== updatedAt) return { kind: "stale" };
  if (!(await fanOutAccount(tx, found.account_id, batch))) return BACKLOG;
  await disable(tx, id, reason, batch.now);
  await updateListener(tx, found.account_id);
  tx.tell("webhooks.endpoint", id);
  return { kind: "ok" };
}

async function disable(
  tx: Tx,
  id: string,
  reason: NonNullable<EndpointRow["disabled_reason"]>,
  now: number,
): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = ${reason},
          disabled_at = ${now}, updated_at = ${now}, pending_deliveries = 0 WHERE id = ${id}`,
  );
  await tx.run(
    sql`UPDATE deliveries SET status = 'cancelled', next_attempt_at = ${null},
          completed_at = ${now} WHERE webhook_id = ${id} AND status = 'pending'`,
  );
}

async function enable(tx: Tx, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET status = 'enabled', disabled_reason = ${null},
          disabled_at = ${null} WHERE id = ${id}`,
  );
  await forgetFailures(tx, id);
}

/** Without this the next failure of a repaired endpoint would disable it again. */
async function forgetFailures(tx: Tx, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET failing_since = ${null}, failures = 0 WHERE id = ${id}`,
  );
}

async function forgetAnswer(tx: Tx, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET last_answer_at = ${null}, last_answer_status = ${null},
          last_answer_error = ${null} WHERE id = ${id}`,
  );
}

/** Events of an account are kept pending only while it has an enabled endpoint. */
async function updateListener(tx: Tx, account_id: string): Promise<void> {
  const enabled = sql`FROM webhook_endpoints
      WHERE account_id = ${account_id} AND status = 'enabled'`;
  await setAccountListening(tx, account_id, (await countRows(tx, enabled)) > 0);
}

/** Part of a transaction: deletes endpoints of an account; their deliveries are swept apart. */
export function deleteEndpoints(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const own = sql`SELECT id FROM webhook_endpoints WHERE account_id = ${account_id} LIMIT 1`;
  const tree = {
    find: () => tx.one(Id, own),
    deleteChildren: async () => 0,
    deleteParent: ({ id }: { id: string }) => removeEndpoint(tx, id, account_id),
  };
  return deleteTrees(tree, limit);
}
