// Checks the instants of schedules: each fired once, or was counted as missed.
import type { Database as Connection } from "bun:sqlite";

/** Maximum delay of an instant that counts as on time, for every trigger. */
const LATE_MS = 60_000;
/** Maximum time between that decision and the transaction that fires. */
const SLACK_MS = 5_000;

interface TimedRow {
  id: string;
  cron: string;
  catch_up_seconds: number;
  created_at: number;
  next_fire_at: number | null;
}

interface FireRow {
  trigger_id: string;
  outcome: string;
  scheduled_at: number;
  missed_count: number;
  created_at: number;
}

export interface InstantBreaches {
  lost: string[];
  mistimed: string[];
  astray: string[];
}

/** Checks schedules of every minute, or every n-th, that were never changed. */
export const checkInstants = (connection: Connection, ended_at: number): InstantBreaches => {
  const triggers = connection
    .query<TimedRow, []>(
      `SELECT id, cron, catch_up_seconds, created_at, next_fire_at FROM triggers
       WHERE kind = 'cron' AND status = 'active'`,
    )
    .all();
  // In order of writing: a clock that moved back repeats instants.
  const fires = connection
    .query<FireRow, []>(
      `SELECT trigger_id, outcome, scheduled_at, missed_count, created_at FROM fires
       WHERE scheduled_at IS NOT NULL ORDER BY rowid`,
    )
    .all();
  const byTrigger = Map.groupBy(fires, ({ trigger_id }) => trigger_id);
  const breaches: InstantBreaches = { lost: [], mistimed: [], astray: [] };
  for (const trigger of triggers) checkTrigger(trigger, byTrigger.get(trigger.id) ?? [], breaches);
  for (const { id, cron, next_fire_at } of triggers) {
    const after_ms = (next_fire_at ?? 0) - ended_at;
    if (after_ms <= 0 || after_ms > readStep(cron)) breaches.astray.push(`${id} ${next_fire_at}`);
  }
  return breaches;
};

const checkTrigger = (
  { id, cron, catch_up_seconds, created_at, next_fire_at }: TimedRow,
  fires: readonly FireRow[],
  breaches: InstantBreaches,
): void => {
  const step_ms = readStep(cron);
  const late_ms = Math.max(catch_up_seconds * 1_000, LATE_MS);
  const fired = new Set<number>();
  const missed = new Set<number>();
  for (const fire of fires) {
    const { scheduled_at, outcome, missed_count } = fire;
    const passed_ms = fire.created_at - scheduled_at;
    const isRight = outcome === "missed" ? passed_ms > late_ms : passed_ms <= late_ms + SLACK_MS;
    if (!isRight || passed_ms < 0 || scheduled_at % step_ms !== 0) {
      breaches.mistimed.push(`${id} ${new Date(scheduled_at).toISOString()} ${outcome}`);
    }
    fired.add(scheduled_at);
    let left = outcome === "missed" ? missed_count - 1 : missed_count;
    for (let at = scheduled_at - step_ms; left > 0 && at > created_at; at -= step_ms) {
      if (fired.has(at)) continue;
      missed.add(at);
      left--;
    }
    // More than there ever were.
    if (left !== 0) breaches.mistimed.push(`${id} ${scheduled_at} misses ${missed_count}`);
  }
  const first = (Math.floor(created_at / step_ms) + 1) * step_ms;
  for (let at = first; at < (next_fire_at ?? 0); at += step_ms) {
    if (!fired.has(at) && !missed.has(at))
      breaches.lost.push(`${id} ${new Date(at).toISOString()}`);
  }
};

// Milliseconds between the instants of `* * * * *`, or of one with a step of minutes.
const readStep = (cron: string): number => {
  const every = /^\*(?:\/(\d+))? \* \* \* \*$/.exec(cron)?.[1] ?? "1";
  return Number(every) * 60_000;
};
