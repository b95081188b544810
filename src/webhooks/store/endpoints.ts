// Endpoints in the database: made, changed, given another secret, disabled, deleted.
import { Type } from "@sinclair/typebox";
import { type Db, into, none, sql, type Tx } from "../../platform/database/index.ts";
import { listenOutside } from "../../platform/outbox/store.ts";
import { refuse } from "../../platform/refusal.ts";
import { dropSecret, putSecret, type SealedSecret } from "../../platform/secrets/store.ts";
import { dropStored } from "../../platform/storage/store.ts";
import { EndpointRow, type OwnEndpoint } from "../endpoint.ts";
import { type FanOut, fanOutAccount } from "./fan-out.ts";
import type { Hopeless } from "./settle.ts";

/** What a request says of an endpoint itself. */
export type EndpointChange = Partial<
  Pick<EndpointRow, "url" | "events" | "description" | "status">
>;

/** Sealed together; bound to the number of the rotation that it saw. */
export interface Rotation {
  secret: SealedSecret;
  seen_number: number;
  previous_expires_at: number | null;
}

const Count = Type.Object({ count: Type.Integer() });

/** agents.authentication.6: undefined where it is another's, too. */
export async function findOwn(
  db: Db,
  id: string,
  account_id: string,
): Promise<EndpointRow | undefined> {
  const found = await db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`);
  return found?.account_id === account_id ? found : undefined;
}

/** Newest first; of one account, or of all where it is null. */
export function listEndpoints(db: Db, account_id: string | null): Promise<EndpointRow[]> {
  return db.all(
    EndpointRow,
    sql`SELECT * FROM webhook_endpoints
        ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
        ORDER BY created_at DESC, id DESC`,
  );
}

/**
 * The endpoint with its secret, of at most so many of its account. null: it was not made, since too
 * much waited that is not for it; some of that was given, so ask again.
 */
export async function createEndpoint(
  tx: Tx,
  row: EndpointRow,
  secret: SealedSecret,
  { endpoints_max, ...fan }: FanOut & { endpoints_max: number },
): Promise<EndpointRow | null> {
  const { account_id } = row;
  await requireRoom(tx, account_id, endpoints_max);
  if (!(await fanOutAccount(tx, account_id, fan))) return null;
  await tx.run(sql`INSERT INTO webhook_endpoints ${into(EndpointRow, row)}`);
  await putSecret(tx, secret);
  await listenOutside(tx, account_id, true);
  tx.tell("webhooks.endpoint", row.id);
  return row;
}

/**
 * The endpoint as it is afterwards; undefined: there is none. null: nothing was changed, since what
 * waits is for it as it was; some of that was given, so ask again.
 */
export async function updateEndpoint(
  tx: Tx,
  { id, account_id }: OwnEndpoint,
  change: EndpointChange,
  fan: FanOut,
): Promise<EndpointRow | null | undefined> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return undefined;
  const wanted = { ...found, ...change };
  // What stays as it is was not updated either.
  if (Bun.deepEquals(wanted, found)) return found;
  const { url, events, description, status } = wanted;
  const isTurned = status !== found.status;
  // What happened before goes to those that had selected it then.
  if (isTurned || !Bun.deepEquals(events, found.events)) {
    if (!(await fanOutAccount(tx, account_id, fan))) return null;
  }
  await tx.run(
    sql`UPDATE webhook_endpoints SET url = ${url}, events = ${JSON.stringify(events)},
          description = ${description}, updated_at = ${fan.now} WHERE id = ${id}`,
  );
  // What failed before speaks of another place.
  if (url !== found.url) await forgetFailures(tx, id);
  if (isTurned) {
    if (status === "disabled") await turnOff(tx, id, "manual", fan.now);
    else await turnOn(tx, id);
    await listenFor(tx, account_id);
  }
  tx.tell("webhooks.endpoint", id);
  return findOwn(tx, id, account_id);
}

/**
 * agents.resources.webhook_endpoint: another secret. undefined: there is no such endpoint; null:
 * another rotation has passed this one, which would lose that one's secret.
 */
export async function rotateEndpoint(
  tx: Tx,
  { id, account_id }: OwnEndpoint,
  { secret, seen_number, previous_expires_at }: Rotation,
): Promise<EndpointRow | null | undefined> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return undefined;
  if (found.secret_number !== seen_number) return null;
  await tx.run(
    sql`UPDATE webhook_endpoints SET secret_number = ${seen_number + 1},
          previous_secret_expires_at = ${previous_expires_at}, updated_at = ${secret.set_at}
        WHERE id = ${id}`,
  );
  await putSecret(tx, secret);
  tx.tell("webhooks.endpoint", id);
  return findOwn(tx, id, account_id);
}

/**
 * It and its secret; false: there is no such endpoint. Its deliveries, which may be millions, are
 * swept later, and shown to nobody until then.
 */
export async function removeEndpoint(tx: Tx, id: string, account_id: string): Promise<boolean> {
  const found = await findOwn(tx, id, account_id);
  if (!found) return false;
  await tx.run(sql`DELETE FROM webhook_endpoints WHERE id = ${id}`);
  await tx.run(sql`INSERT INTO webhook_endpoints_gone (id) VALUES (${id})`);
  await dropStored(tx, account_id, `webhook ${id}`);
  await dropSecret(tx, "webhook", id);
  await listenFor(tx, account_id);
  tx.tell("webhooks.endpoint", id);
  return true;
}

/**
 * An endpoint that fails is disabled by itself; false: it is no longer the one of which that was
 * found. null: not yet, since too much waits that it had selected; some of that was given, so ask
 * again.
 */
export async function disableEndpoint(
  tx: Tx,
  { webhook_id: id, reason, updated_at }: Hopeless,
  fan: FanOut,
): Promise<boolean | null> {
  const found = await tx.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`);
  if (found?.status !== "enabled" || found.updated_at !== updated_at) return false;
  if (!(await fanOutAccount(tx, found.account_id, fan))) return null;
  await turnOff(tx, id, reason, fan.now);
  await listenFor(tx, found.account_id);
  tx.tell("webhooks.endpoint", id);
  return true;
}

/** What waits for it is cancelled; what is on its way is, too, and no longer counts. */
async function turnOff(
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

async function turnOn(tx: Tx, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET status = 'enabled', disabled_reason = ${null},
          disabled_at = ${null} WHERE id = ${id}`,
  );
  await forgetFailures(tx, id);
}

/** Else the first failure of an endpoint that was mended would disable it again. */
async function forgetFailures(tx: Tx, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE webhook_endpoints SET failing_since = ${null}, failures = 0 WHERE id = ${id}`,
  );
}

/** agents.errors.endpoints_limit, agents.limits.run_admission_trigger_endpoint */
async function requireRoom(tx: Tx, account_id: string, endpoints_max: number): Promise<void> {
  const found = await tx.one(
    Count,
    sql`SELECT COUNT(*) AS count FROM webhook_endpoints WHERE account_id = ${account_id}`,
  );
  if (found!.count < endpoints_max) return;
  const message = `The account has ${endpoints_max} endpoints, and may have no more.`;
  throw refuse("endpoints_limit", { message });
}

/** An account whose endpoints are all disabled has events for nobody. */
async function listenFor(tx: Tx, account_id: string): Promise<void> {
  const enabled = await tx.one(
    Count,
    sql`SELECT COUNT(*) AS count FROM webhook_endpoints
        WHERE account_id = ${account_id} AND status = 'enabled'`,
  );
  await listenOutside(tx, account_id, enabled!.count > 0);
}
