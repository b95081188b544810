// Writes one fire of a trigger in one transaction: its row, its run, its event and the next fire.
import { hasLiveRun, type PreparedRun, start } from "../../agents/runs/store/start.ts";
import { countRows, into, sql, type Tx } from "../../database/index.ts";
import { recordEvents } from "../../outbox/store.ts";
import { ApiError } from "../../platform/errors.ts";
import { show } from "../../platform/schema.ts";
import { Fire, type FireOutcome, FireRow, type FireSource } from "../fire.ts";
import { type PausedReason, TriggerName, TriggerRow } from "../trigger.ts";
import { findRequested } from "./lookup.ts";

export interface DueInstant {
  dueAt: number;
  seen: Pick<TriggerRow, "cron" | "time_zone">;
  scheduledAt: number;
  /** Instants from `dueAt` on without a fire, including this one when it is missed. */
  missedCount: number;
  isMissed: boolean;
  nextFireAt: number | null;
}

/** A run that may start, or the reason against it as known before the transaction. */
export type PreparedFire =
  | { ok: true; start: PreparedRun }
  | {
      ok: false;
      outcome: "held" | "refused" | "failed" | "limited" | "missed";
      error: Fire["error"];
      pause: PausedReason | null;
    };

export interface FireInput {
  trigger_id: string;
  /** The fields by which the run was prepared; after a change it is prepared again. */
  preparedFor: Pick<TriggerRow, "key_id" | "input" | "thread_id" | "name">;
  source: FireSource;
  instant: DueInstant | null;
  webhook_id: string | null;
  fired_by_key_id: string | null;
  prepared: PreparedFire;
  fire_id: string;
  event_id: string;
  now: number;
}

/**
 * `fired`: written · `known`: the same request fired before · `paused`, `gone`: nothing is written,
 * since trigger or instant no longer hold · `changed`: has to be prepared again.
 */
export type Fired =
  | {
      kind: "fired";
      fire: FireRow;
      /** Seconds as text; null if unknown. */
      retry_after: string | null;
    }
  | { kind: "known"; fire: FireRow }
  | { kind: "paused" | "gone" }
  | { kind: "changed" };

interface RunStart {
  outcome: FireOutcome;
  run_id: string | null;
  error: Fire["error"];
  retry_after: string | null;
}

const LIMIT_CODES = [
  "active_runs_limit",
  "daily_runs_limit",
  "storage_limit_reached",
  // The disk is nearly full.
  "service_unavailable",
];

/** agents.does.trigger: every fire is recorded with its outcome. */
export async function fire(tx: Tx, input: FireInput): Promise<Fired> {
  const { trigger_id, webhook_id, instant, prepared, now } = input;
  const trigger = await tx.one(TriggerRow, sql`SELECT * FROM triggers WHERE id = ${trigger_id}`);
  if (!trigger) return { kind: "gone" };
  const before = webhook_id === null ? undefined : await findRequested(tx, trigger_id, webhook_id);
  // agents.endpoints.triggers.p6
  if (before && usesUp(before.outcome)) return { kind: "known", fire: before };
  // agents.states.p12, agents.errors.trigger_paused
  if (trigger.status !== "active") return { kind: "paused" };
  if (instant && !isStillDue(trigger, instant)) return { kind: "gone" };
  if (instant && (await hasFired(tx, trigger_id, instant))) {
    // After the clock went back, the same instants come due again.
    await tx.run(
      sql`UPDATE triggers SET next_fire_at = ${instant.nextFireAt} WHERE id = ${trigger_id}`,
    );
    return { kind: "gone" };
  }
  if (!isPrepared(trigger, input)) return { kind: "changed" };
  const started = await startRun(tx, trigger, prepared, before?.id ?? input.fire_id);
  const row = await writeFire(tx, input, before, started);
  // A repeated request with the same result changes nothing.
  if (row !== before) {
    const next = instant ? instant.nextFireAt : trigger.next_fire_at;
    await tx.run(
      sql`UPDATE triggers SET last_fire_at = ${now}, next_fire_at = ${next}
          WHERE id = ${trigger_id}`,
    );
    // agents.events.webhook.4
    await recordEvents(tx, {
      id: input.event_id,
      account_id: trigger.account_id,
      type: "trigger.fired",
      at: now,
      data: { trigger: show(TriggerName, trigger), fire: show(Fire, row) },
    });
  }
  if (!prepared.ok && prepared.pause) {
    // agents.states.p12
    const reason = JSON.stringify(prepared.pause);
    await tx.run(
      sql`UPDATE triggers SET status = 'paused', paused_reason = ${reason},
            next_fire_at = ${null}, updated_at = ${now}
          WHERE id = ${trigger_id}`,
    );
  }
  return { kind: "fired", fire: row, retry_after: started.retry_after };
}

/** The outcome uses the request's id up: the same request starts no further run. */
export const usesUp = (outcome: FireOutcome) => outcome === "started" || outcome === "skipped";

/** The error may be gone at a later fire. */
export const isLimit = (code: string) => LIMIT_CODES.includes(code);

/** Deletes up to `limit` fires that ended before `until`, also of deleted triggers. */
export function sweepFires(tx: Tx, until: number, limit: number): Promise<number> {
  return tx.run(
    sql`DELETE FROM fires WHERE id IN
          (SELECT id FROM fires WHERE ended_at < ${until} ORDER BY ended_at LIMIT ${limit})`,
  );
}

async function hasFired(tx: Tx, trigger_id: string, { scheduledAt }: DueInstant): Promise<boolean> {
  const fired = sql`FROM fires WHERE trigger_id = ${trigger_id} AND scheduled_at = ${scheduledAt}`;
  return (await countRows(tx, fired)) > 0;
}

function isStillDue(trigger: TriggerRow, { dueAt, seen }: DueInstant): boolean {
  const { next_fire_at, cron, time_zone } = trigger;
  return next_fire_at === dueAt && cron === seen.cron && time_zone === seen.time_zone;
}

function isPrepared(trigger: TriggerRow, { preparedFor, prepared }: FireInput): boolean {
  const { key_id, input, thread_id, name } = trigger;
  // Another key may be allowed what the one before was not.
  if (!prepared.ok) return key_id === preparedFor.key_id;
  return Bun.deepEquals({ key_id, input, thread_id, name }, preparedFor);
}

/** Leaves out instants that fired before the clock went back. */
async function countMissed(tx: Tx, trigger_id: string, instant: DueInstant): Promise<number> {
  const { dueAt, scheduledAt, missedCount } = instant;
  if (missedCount === 0) return 0;
  const fired = sql`FROM fires WHERE trigger_id = ${trigger_id}
      AND scheduled_at >= ${dueAt} AND scheduled_at < ${scheduledAt}`;
  return Math.max(missedCount - (await countRows(tx, fired)), 0);
}

async function startRun(
  tx: Tx,
  { id, overlap }: TriggerRow,
  prepared: PreparedFire,
  fire_id: string,
): Promise<RunStart> {
  const none = { run_id: null, retry_after: null };
  if (!prepared.ok) return { ...none, outcome: prepared.outcome, error: prepared.error };
  if (overlap === "skip" && (await hasLiveRun(tx, id))) {
    const message = "An earlier run of the trigger was not over.";
    return { ...none, outcome: "skipped", error: { code: "overlap", message } };
  }
  const run = { ...prepared.start.run, fire_id };
  try {
    const started = await start(tx, { ...prepared.start, run });
    return { outcome: "started", run_id: started.run.id, error: null, retry_after: null };
  } catch (error) {
    // An ApiError is thrown before anything is written.
    if (!(error instanceof ApiError)) throw error;
    const { code, message, details } = error;
    const retry_after = details.headers?.["retry-after"] ?? null;
    return {
      outcome: classify(code, overlap),
      run_id: null,
      error: { code, message },
      retry_after,
    };
  }
}

function classify(code: string, overlap: TriggerRow["overlap"]): FireOutcome {
  if (code === "thread_busy") return overlap === "skip" ? "skipped" : "limited";
  return isLimit(code) ? "limited" : "failed";
}

/** Returns `before` itself when nothing changed, since a sender may repeat its request at will. */
async function writeFire(
  tx: Tx,
  input: FireInput,
  before: FireRow | undefined,
  { outcome, run_id, error }: RunStart,
): Promise<FireRow> {
  const { trigger_id, source, instant, webhook_id, fired_by_key_id, now } = input;
  if (!before) {
    const row: FireRow = {
      id: input.fire_id,
      trigger_id,
      source,
      outcome,
      run_id,
      webhook_id,
      error,
      fired_by_key_id,
      scheduled_at: instant?.scheduledAt ?? null,
      missed_count: instant ? await countMissed(tx, trigger_id, instant) : 0,
      created_at: now,
      ended_at: now,
    };
    await tx.run(sql`INSERT INTO fires ${into(FireRow, row)}`);
    return row;
  }
  if (before.outcome === outcome && before.error?.code === error?.code) return before;
  await tx.run(
    sql`UPDATE fires SET outcome = ${outcome}, run_id = ${run_id},
          error = ${error === null ? null : JSON.stringify(error)}, ended_at = ${now}
        WHERE id = ${before.id}`,
  );
  return { ...before, outcome, run_id, error, ended_at: now };
}
