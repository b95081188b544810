// What attempts came to: their rows, the deliveries they were made for, and the endpoints behind.
import { type Static, Type } from "@sinclair/typebox";
import { createInsertion, splitRows, sql, type Tx } from "../../platform/database/index.ts";
import { writeRow } from "../../platform/shape.ts";
import { measureRow, releaseStored } from "../../platform/storage/store.ts";
import { ATTEMPTS_MAX, AttemptRow, DeliveryRow, LOST } from "../delivery.ts";
import { EndpointRow } from "../endpoint.ts";

const HOUR_MS = 3_600_000;
/** An endpoint to which nothing came for so long is disabled, if that was tried so often … */
const FAILING_MS = 120 * HOUR_MS;
const FAILURES_MIN = 10;
/** … and over so long: a clock that leaps disables nobody. */
const FAILING_SPREAD_MS = 12 * HOUR_MS;

/** An attempt before it has a number. */
export type Attempt = Omit<AttemptRow, "delivery_id" | "number">;

interface About {
  delivery_id: string;
  webhook_id: string;
  /** Of the process that had it. */
  epoch: number;
}
/** What was tried, and at which endpoint: its address, and when it had been changed last. */
interface Tried {
  attempt: Attempt;
  url: string;
  updated_at: number;
}
export type Settlement = About &
  (
    | ({ came_to: "delivered" | "failed" } & Tried)
    /** `gone`: should its endpoint not be disabled, it is tried again, too. */
    | ({ came_to: "retry" | "gone"; next_attempt_at: number } & Tried)
    /** Nothing was tried: there is nothing to be sent, or its process gives it back. */
    | { came_to: "expired" | "released" }
  );

const Endpoint = Type.Pick(EndpointRow, [
  ...(["id", "account_id", "url", "status", "failing_since", "failures"] as const),
  ...(["last_success_at", "last_failure_at", "updated_at"] as const),
]);
type Endpoint = Static<typeof Endpoint>;

const insertAttempts = createInsertion(AttemptRow, "INSERT INTO delivery_attempts", "");

/** An endpoint to which nothing more is to be sent; disabled by a write of its own. */
export interface Hopeless {
  webhook_id: string;
  reason: "gone" | "failing";
  /** Of the endpoint that this was found of: changed or enabled since then, it is another. */
  updated_at: number;
}

/** Writes what came of deliveries, unless another process has them by now. */
export async function settle(tx: Tx, all: readonly Settlement[], now: number): Promise<Hopeless[]> {
  const attempts: AttemptRow[] = [];
  const hopeless: Hopeless[] = [];
  for (const [webhook_id, group] of Map.groupBy(all, (one) => one.webhook_id)) {
    const endpoint = await tx.one(
      Endpoint,
      sql`SELECT * FROM webhook_endpoints WHERE id = ${webhook_id}`,
    );
    let ended = 0;
    let stored = 0;
    let reason: Hopeless["reason"] | null = null;
    for (const one of group) {
      const delivery = await tx.one(
        DeliveryRow,
        sql`SELECT * FROM deliveries WHERE id = ${one.delivery_id}`,
      );
      if (delivery?.epoch !== one.epoch) continue;
      const after = advance(delivery, one, now);
      if (delivery.status === "pending" && after.status !== "pending") ended++;
      if (after.status === "pending" && delivery.tries < 0) tx.tell("webhooks.due", webhook_id);
      const bytes = "attempt" in one ? measureAttempt(one.attempt, after) : 0;
      stored += bytes;
      await update(tx, after, bytes);
      if (!("attempt" in one)) continue;
      const { id: delivery_id, attempt_count: number } = after;
      attempts.push({ delivery_id, number, ...one.attempt });
      // Of the place that it had before it says nothing.
      if (endpoint?.url === one.url) reason = judgeEndpoint(endpoint, one, now) ?? reason;
    }
    if (endpoint) {
      await updateEndpoint(tx, endpoint, ended);
      await releaseStored(tx, endpoint.account_id, `webhook ${webhook_id}`, -stored);
    }
    const isEnabled = endpoint?.status === "enabled";
    if (reason !== null && isEnabled) {
      hopeless.push({ webhook_id, reason, updated_at: endpoint.updated_at });
    }
  }
  await keepAttempts(tx, attempts);
  return hopeless;
}

/** Beyond the limit each one takes the place of another. */
function measureAttempt(
  { response_body, error }: Attempt,
  { attempt_count }: Pick<DeliveryRow, "attempt_count">,
): number {
  return attempt_count > ATTEMPTS_MAX ? 0 : measureRow(response_body, error);
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

/** The delivery as it is after this; nobody has it any more. */
function advance(delivery: DeliveryRow, one: Settlement, now: number): DeliveryRow {
  const after = { ...delivery, epoch: 0 };
  if ("attempt" in one) {
    after.attempt_count += 1;
    after.last_response_status = one.attempt.response_status;
    after.last_error = one.attempt.error;
  }
  // Cancelled meanwhile: that it arrived all the same is worth more.
  if (delivery.status !== "pending") {
    return one.came_to === "delivered" ? end(after, "delivered", now) : after;
  }
  // Asked for again meanwhile: it is sent once more, whatever this came to.
  if (delivery.tries < 0) return { ...after, tries: 0 };
  switch (one.came_to) {
    case "delivered":
    case "failed":
      return end(after, one.came_to, now);
    case "expired":
      return end({ ...after, last_error: LOST.event_expired }, "failed", now);
    case "retry":
    case "gone": {
      // Tried once, whatever the answer.
      if (delivery.kind === "test") return end(after, "failed", now);
      const { next_attempt_at } = one;
      return { ...after, kind: "scheduled", tries: after.tries + 1, lane: 1, next_attempt_at };
    }
    case "released":
      return after;
  }
}

function end(delivery: DeliveryRow, status: DeliveryRow["status"], now: number): DeliveryRow {
  return { ...delivery, status, next_attempt_at: null, completed_at: now };
}

/** `bytes`: what it stores beside what it has stored. */
async function update(tx: Tx, row: DeliveryRow, bytes: number): Promise<void> {
  await tx.run(
    sql`UPDATE deliveries SET status = ${row.status}, attempt_count = ${row.attempt_count},
          next_attempt_at = ${row.next_attempt_at}, last_error = ${row.last_error},
          last_response_status = ${row.last_response_status}, completed_at = ${row.completed_at},
          kind = ${row.kind}, tries = ${row.tries}, lane = ${row.lane}, epoch = 0,
          stored_bytes = stored_bytes + ${bytes}
        WHERE id = ${row.id}`,
  );
}

/** Notes an attempt at the endpoint; why nothing more is to be sent to it, or null. */
function judgeEndpoint(
  endpoint: Endpoint,
  { came_to, updated_at }: Extract<Settlement, Tried>,
  now: number,
): Hopeless["reason"] | null {
  if (came_to === "delivered") {
    Object.assign(endpoint, { failing_since: null, failures: 0, last_success_at: now });
    return null;
  }
  const before = endpoint.last_failure_at;
  endpoint.failing_since ??= now;
  endpoint.failures += 1;
  endpoint.last_failure_at = now;
  // Who has enabled it again knows better than an answer to what was sent before.
  if (came_to === "gone") return updated_at === endpoint.updated_at ? "gone" : null;
  const { failing_since, failures } = endpoint;
  const isLong = now - failing_since >= FAILING_MS && failures >= FAILURES_MIN;
  const isSpread = before !== null && before - failing_since >= FAILING_SPREAD_MS;
  return isLong && isSpread ? "failing" : null;
}

async function updateEndpoint(tx: Tx, endpoint: Endpoint, ended: number): Promise<void> {
  const { id, failing_since, failures, last_success_at, last_failure_at } = endpoint;
  await tx.run(
    sql`UPDATE webhook_endpoints SET failing_since = ${failing_since}, failures = ${failures},
          last_success_at = ${last_success_at}, last_failure_at = ${last_failure_at},
          pending_deliveries = pending_deliveries - ${ended}
        WHERE id = ${id}`,
  );
}
