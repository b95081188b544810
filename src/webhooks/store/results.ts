// Results of attempts: their rows, the deliveries they were made for, and the endpoints behind.
import { createInsertion, inLockOrder, splitRows, sql, type Tx } from "../../database/index.ts";
import { writeRow } from "../../platform/schema.ts";
import { measureRow, releaseStored } from "../../storage/store.ts";
import { ATTEMPTS_MAX, AttemptRow, type DeliveryRow, LOST } from "../delivery.ts";
import type { EndpointRow } from "../endpoint.ts";
import { findDelivery } from "./deliveries.ts";
import { type FailedEndpoint, findEndpoint } from "./endpoints.ts";

const HOUR_MS = 3_600_000;
/** Minimum time without a success before an endpoint is disabled. */
const FAILING_MS = 120 * HOUR_MS;
/** Minimum failures in that time. */
const FAILURES_MIN = 10;
/** Minimum time from the first failure to the last but one: one clock change disables nothing. */
const FAILING_SPREAD_MS = 12 * HOUR_MS;

export type NewAttempt = Omit<AttemptRow, "delivery_id" | "number">;

interface ResultKey {
  deliveryId: string;
  webhookId: string;
  epoch: number;
}
interface Tried {
  attempt: NewAttempt;
  url: string;
  updatedAt: number;
}
export type AttemptResult = ResultKey &
  (
    | ({ kind: "delivered" | "failed" } & Tried)
    /** `gone` is tried again as well, where its endpoint is not disabled. */
    | ({ kind: "retry" | "gone"; nextAttemptAt: number } & Tried)
    /** Without an attempt: the event is gone, or the delivery is released. */
    | { kind: "expired" | "released" }
  );

const insertAttempts = createInsertion(AttemptRow, "INSERT INTO delivery_attempts", "");

/** Writes the results of deliveries that other processes have not claimed since. */
export async function settle(
  tx: Tx,
  all: readonly AttemptResult[],
  now: number,
): Promise<FailedEndpoint[]> {
  const attempts: AttemptRow[] = [];
  const failed: FailedEndpoint[] = [];
  const groups = Map.groupBy(all, (result) => result.webhookId);
  for (const [webhookId, group] of inLockOrder(groups)) {
    const endpoint = await findEndpoint(tx, webhookId);
    let ended = 0;
    let stored = 0;
    let reason: FailedEndpoint["reason"] | undefined;
    for (const result of group) {
      const settled = await settleOne(tx, result, now);
      if (!settled) continue;
      if (settled.isEnded) ended++;
      stored += settled.bytes;
      if (!("attempt" in result)) continue;
      attempts.push({ ...settled.key, ...result.attempt });
      // An attempt at a former address says nothing of the endpoint.
      if (endpoint?.url === result.url) reason = countAttempt(endpoint, result, now) ?? reason;
    }
    if (!endpoint) continue;
    await updateEndpoint(tx, endpoint, ended);
    // A negative release counts the attempts that were added.
    await releaseStored(tx, endpoint.account_id, `webhook ${webhookId}`, -stored);
    if (reason !== undefined) {
      failed.push({ webhookId, reason, updatedAt: endpoint.updated_at });
    }
  }
  await keepAttempts(tx, attempts);
  return failed;
}

async function settleOne(tx: Tx, result: AttemptResult, now: number) {
  const { deliveryId, webhookId, epoch } = result;
  const before = await findDelivery(tx, deliveryId);
  if (before?.epoch !== epoch) return undefined;
  const after = advance(before, result, now);
  if (after.status === "pending" && isReplayed(before)) tx.tell("webhooks.due", webhookId);
  const bytes = "attempt" in result ? measureAttempt(result.attempt, after) : 0;
  await updateDelivery(tx, after, bytes);
  return {
    key: { delivery_id: deliveryId, number: after.attempt_count },
    isEnded: before.status === "pending" && after.status !== "pending",
    bytes,
  };
}

/** Beyond the limit each attempt replaces another. */
function measureAttempt(
  { url, response_body, error }: NewAttempt,
  { attempt_count }: Pick<DeliveryRow, "attempt_count">,
): number {
  return attempt_count > ATTEMPTS_MAX ? 0 : measureRow(url, response_body, error);
}

async function keepAttempts(tx: Tx, attempts: readonly AttemptRow[]): Promise<void> {
  for (const group of splitRows(attempts)) {
    await tx.run(insertAttempts(group.map((row) => writeRow(AttemptRow, row))));
  }
  for (const { delivery_id, number } of attempts) {
    if (number <= ATTEMPTS_MAX) continue;
    await tx.run(
      sql`DELETE FROM delivery_attempts
          WHERE delivery_id = ${delivery_id} AND number <= ${number - ATTEMPTS_MAX}`,
    );
  }
}

/** A replay during an attempt is stored as negative tries. */
const isReplayed = ({ tries }: DeliveryRow) => tries < 0;

function advance(before: DeliveryRow, result: AttemptResult, now: number): DeliveryRow {
  const after = { ...before, epoch: 0 };
  if ("attempt" in result) {
    after.attempt_count += 1;
    after.last_response_status = result.attempt.response_status;
    after.last_error = result.attempt.error;
  }
  // Cancelled meanwhile: only a success changes that.
  if (before.status !== "pending") {
    return result.kind === "delivered" ? end(after, "delivered", now) : after;
  }
  // Replayed meanwhile: it is sent once more, regardless of this result.
  if (isReplayed(before)) return { ...after, tries: 0 };
  switch (result.kind) {
    case "delivered":
    case "failed":
      return end(after, result.kind, now);
    case "expired":
      return end({ ...after, last_error: LOST.event_expired }, "failed", now);
    case "retry":
    case "gone": {
      if (before.kind === "test") return end(after, "failed", now);
      const { nextAttemptAt: next_attempt_at } = result;
      return { ...after, kind: "scheduled", tries: after.tries + 1, lane: 1, next_attempt_at };
    }
    case "released":
      return after;
  }
}

function end(delivery: DeliveryRow, status: DeliveryRow["status"], now: number): DeliveryRow {
  return { ...delivery, status, next_attempt_at: null, completed_at: now };
}

async function updateDelivery(tx: Tx, row: DeliveryRow, bytes: number): Promise<void> {
  await tx.run(
    sql`UPDATE deliveries SET status = ${row.status}, attempt_count = ${row.attempt_count},
          next_attempt_at = ${row.next_attempt_at}, last_error = ${row.last_error},
          last_response_status = ${row.last_response_status}, completed_at = ${row.completed_at},
          kind = ${row.kind}, tries = ${row.tries}, lane = ${row.lane}, epoch = 0,
          stored_bytes = stored_bytes + ${bytes}
        WHERE id = ${row.id}`,
  );
}

function countAttempt(
  endpoint: EndpointRow,
  { kind, updatedAt, attempt }: Extract<AttemptResult, Tried>,
  now: number,
): FailedEndpoint["reason"] | undefined {
  const { response_status: last_answer_status, error: last_answer_error } = attempt;
  Object.assign(endpoint, { last_answer_at: now, last_answer_status, last_answer_error });
  if (kind === "delivered") {
    Object.assign(endpoint, { failing_since: null, failures: 0, last_success_at: now });
    return undefined;
  }
  const before = endpoint.last_failure_at;
  endpoint.failing_since ??= now;
  endpoint.failures += 1;
  endpoint.last_failure_at = now;
  // Changed or enabled meanwhile, the endpoint is no longer the one that is gone.
  if (kind === "gone") return updatedAt === endpoint.updated_at ? "gone" : undefined;
  const { failing_since, failures } = endpoint;
  const isLong = now - failing_since >= FAILING_MS && failures >= FAILURES_MIN;
  const isSpread = before !== null && before - failing_since >= FAILING_SPREAD_MS;
  return isLong && isSpread ? "failing" : undefined;
}

async function updateEndpoint(tx: Tx, endpoint: EndpointRow, ended: number): Promise<void> {
  const { id, failing_since, failures, last_success_at, last_failure_at } = endpoint;
  await tx.run(
    sql`UPDATE webhook_endpoints SET failing_since = ${failing_since}, failures = ${failures},
          last_success_at = ${last_success_at}, last_failure_at = ${last_failure_at},
          last_answer_at = ${endpoint.last_answer_at},
          last_answer_status = ${endpoint.last_answer_status},
          last_answer_error = ${endpoint.last_answer_error},
          pending_deliveries = pending_deliveries - ${ended}
        WHERE id = ${id}`,
  );
}
