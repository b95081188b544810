// One fire of a trigger, whatever its source: its row, its run, the event, and what comes next, all
// in one transaction.
import { Type } from "@sinclair/typebox";
import { type Admission, start } from "../../agents/runs/store/admission.ts";
import { hasLiveRun } from "../../agents/runs/store/live-runs.ts";
import { into, sql, type Tx } from "../../database/index.ts";
import { recordEvents } from "../../outbox/store.ts";
import { ApiError } from "../../platform/errors.ts";
import { show } from "../../platform/schema.ts";
import { Fire, type FireOutcome, FireRow, type FireSource } from "../fire.ts";
import { type PausedReason, TriggerName, TriggerRow } from "../trigger.ts";
import { findRequested } from "./hook.ts";

/** An instant of a schedule that is due, and the one that the schedule goes on with. */
export interface DueInstant {
  /** What the trigger's `next_fire_at` was when this was reckoned, */
  due_at: number;
  /** and by what: another schedule by now goes on with other instants. */
  seen: Pick<TriggerRow, "cron" | "time_zone">;
  scheduled_at: number;
  /** Instants from `due_at` on that passed before it; of a missed one, it is among them. */
  missed_count: number;
  /** It is too late for it. */
  is_missed: boolean;
  /** null: it never fires again. */
  next_fire_at: number | null;
}

/** A run that may start, or why none does, as far as that is known before the transaction. */
export type PreparedFire =
  | { ok: true; admission: Admission }
  | {
      ok: false;
      outcome: "held" | "refused" | "failed" | "limited" | "missed";
      error: Fire["error"];
      /** null: the trigger goes on. */
      pause: PausedReason | null;
    };

export interface FireInput {
  trigger_id: string;
  /** What of the trigger the run was prepared by: another by now, and it is prepared anew. */
  judged: Pick<TriggerRow, "key_id" | "input" | "thread_id" | "name">;
  source: FireSource;
  /** Of source cron, else null. */
  instant: DueInstant | null;
  /** The sender's own word for its request. */
  webhook_id: string | null;
  fired_by_key_id: string | null;
  prepared: PreparedFire;
  /** Ids that nobody has used. */
  fire_id: string;
  event_id: string;
  now: number;
}

/**
 * `fired`: as it is stored now · `known`: the same request had its fire before · `paused`, `gone`:
 * nothing was written, `gone` also where the schedule has moved on · `changed`: prepare it anew.
 */
export type Fired =
  | { kind: "fired"; fire: FireRow /** Seconds; null: nobody knows. */; retry_after: string | null }
  | { kind: "known"; fire: FireRow }
  | { kind: "paused" | "gone" }
  | { kind: "changed" };

const Id = Type.Object({ id: Type.String() });
const Count = Type.Object({ count: Type.Integer() });

/** agents.does.trigger: every fire is recorded with its outcome. */
export async function fire(tx: Tx, firing: FireInput): Promise<Fired> {
  const { trigger_id, webhook_id, instant } = firing;
  const trigger = await tx.one(TriggerRow, sql`SELECT * FROM triggers WHERE id = ${trigger_id}`);
  if (!trigger) return { kind: "gone" };
  const before = webhook_id === null ? undefined : await findRequested(tx, trigger_id, webhook_id);
  // agents.endpoints.triggers.p6: only what started a run, or had one before it, uses the id up.
  if (before && usesUp(before.outcome)) return { kind: "known", fire: before };
  // agents.states.p12, agents.errors.trigger_paused
  if (trigger.status !== "active") return { kind: "paused" };
  if (instant && !isReckoned(trigger, instant)) return { kind: "gone" };
  if (instant && (await hasFired(tx, trigger_id, instant))) {
    // A clock that went back comes by the same instants again.
    await setNext(tx, trigger_id, instant.next_fire_at);
    return { kind: "gone" };
  }
  if (!isJudged(trigger, firing)) return { kind: "changed" };
  const end = await startRun(tx, trigger, firing, before?.id ?? firing.fire_id);
  const row = await keepFire(tx, firing, before, end);
  const { now, prepared } = firing;
  const next = instant ? instant.next_fire_at : trigger.next_fire_at;
  // The same once more of a request that comes again is recorded nowhere.
  if (row !== before) {
    await tx.run(
      sql`UPDATE triggers SET last_fire_at = ${now}, next_fire_at = ${next}
          WHERE id = ${trigger_id}`,
    );
    await tellFired(tx, trigger, row, firing);
  }
  if (!prepared.ok && prepared.pause) await pauseTrigger(tx, trigger_id, prepared.pause, now);
  return { kind: "fired", fire: row, retry_after: end.retry_after };
}

/** What started a run, or had one before it: the same request starts no more. */
export const usesUp = (outcome: FireOutcome) => outcome === "started" || outcome === "skipped";

async function hasFired(
  tx: Tx,
  trigger_id: string,
  { scheduled_at }: DueInstant,
): Promise<boolean> {
  const found = await tx.one(
    Id,
    sql`SELECT id FROM fires WHERE trigger_id = ${trigger_id} AND scheduled_at = ${scheduled_at}`,
  );
  return found !== undefined;
}

function isReckoned(trigger: TriggerRow, { due_at, seen }: DueInstant): boolean {
  const { next_fire_at, cron, time_zone } = trigger;
  return next_fire_at === due_at && cron === seen.cron && time_zone === seen.time_zone;
}

/** Behind a clock that went back some of the instants have had their fire. */
async function countMissed(tx: Tx, trigger_id: string, instant: DueInstant): Promise<number> {
  const { due_at, scheduled_at, missed_count } = instant;
  if (missed_count === 0) return 0;
  const fired = await tx.one(
    Count,
    sql`SELECT COUNT(*) AS count FROM fires WHERE trigger_id = ${trigger_id}
          AND scheduled_at >= ${due_at} AND scheduled_at < ${scheduled_at}`,
  );
  return Math.max(missed_count - fired!.count, 0);
}

function isJudged(trigger: TriggerRow, { judged, prepared }: FireInput): boolean {
  const { key_id, input, thread_id, name } = trigger;
  // Who resumed it with another key has mended what an ended one was refused for.
  if (!prepared.ok) return key_id === judged.key_id;
  return Bun.deepEquals({ key_id, input, thread_id, name }, judged);
}

interface End {
  outcome: FireOutcome;
  run_id: string | null;
  error: Fire["error"];
  retry_after: string | null;
}

async function startRun(
  tx: Tx,
  { id, overlap }: TriggerRow,
  { prepared }: FireInput,
  fire_id: string,
): Promise<End> {
  const none = { run_id: null, retry_after: null };
  if (!prepared.ok) return { ...none, outcome: prepared.outcome, error: prepared.error };
  if (overlap === "skip" && (await hasLiveRun(tx, id))) {
    const message = "An earlier run of the trigger was not over.";
    return { ...none, outcome: "skipped", error: { code: "overlap", message } };
  }
  const { admission } = prepared;
  try {
    const { run } = await start(tx, { ...admission, run: { ...admission.run, fire_id } });
    return { outcome: "started", run_id: run.id, error: null, retry_after: null };
  } catch (failure) {
    // It has written nothing.
    if (!(failure instanceof ApiError)) throw failure;
    const { code, message, say } = failure;
    const retry_after = say.headers?.["retry-after"] ?? null;
    const outcome = judgeRefusal(code, overlap);
    return { outcome, run_id: null, error: { code, message }, retry_after };
  }
}

function judgeRefusal(code: string, overlap: TriggerRow["overlap"]): FireOutcome {
  if (code === "thread_busy") return overlap === "skip" ? "skipped" : "limited";
  return isLimit(code) ? "limited" : "failed";
}

const LIMITS = [
  ...["active_runs_limit", "daily_runs_limit", "storage_limit_reached"],
  // The disk is nearly full.
  "service_unavailable",
];
/** What refuses a run now may allow a later one. */
export const isLimit = (code: string) => LIMITS.includes(code);

/** The same row as before where nothing has changed: a sender may try as often as it likes. */
async function keepFire(
  tx: Tx,
  firing: FireInput,
  before: FireRow | undefined,
  { outcome, run_id, error }: End,
): Promise<FireRow> {
  const { fire_id, trigger_id, source, instant, webhook_id, fired_by_key_id, now } = firing;
  if (!before) {
    const row: FireRow = {
      ...{ id: fire_id, trigger_id, source, outcome, run_id, webhook_id, error, fired_by_key_id },
      scheduled_at: instant?.scheduled_at ?? null,
      missed_count: instant ? await countMissed(tx, trigger_id, instant) : 0,
      ...{ created_at: now, ended_at: now },
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

/** agents.events.webhook.4 */
function tellFired(
  tx: Tx,
  trigger: TriggerRow,
  row: FireRow,
  { event_id, now }: FireInput,
): Promise<void> {
  const data = { trigger: show(TriggerName, trigger), fire: show(Fire, row) };
  const { account_id } = trigger;
  return recordEvents(tx, { id: event_id, account_id, type: "trigger.fired", at: now, data });
}

function setNext(tx: Tx, trigger_id: string, next_fire_at: number | null): Promise<number> {
  return tx.run(sql`UPDATE triggers SET next_fire_at = ${next_fire_at} WHERE id = ${trigger_id}`);
}

/** A part, agents.states.p12: nothing fires it until somebody resumes it. */
async function pauseTrigger(
  tx: Tx,
  trigger_id: string,
  reason: PausedReason,
  now: number,
): Promise<void> {
  await tx.run(
    sql`UPDATE triggers SET status = 'paused', paused_reason = ${JSON.stringify(reason)},
          next_fire_at = ${null}, updated_at = ${now}
        WHERE id = ${trigger_id}`,
  );
}
