// What a trigger's schedule asks for now: which instant fires, which were missed, which is next.
import { findDue, nextAfter } from "./cron/occurrences.ts";
import { readTiming } from "./next-fire.ts";
import type { DueInstant } from "./store/fire.ts";
import type { TriggerRow } from "./trigger.ts";

/** `moved`: nothing is due, for its zone has other clocks by now · `unreadable`: nobody can say. */
export type DueResult =
  | { kind: "due"; instant: DueInstant }
  | { kind: "moved"; next_fire_at: number | null }
  | { kind: "unreadable"; fault: string };

type Timed = Pick<TriggerRow, "cron" | "time_zone" | "catch_up_seconds" | "updated_at"> & {
  next_fire_at: number;
};

/** An instant that is no later than this is on time, whatever its trigger says: we were busy. */
const LATE_MS = 60_000;

/** agents.does.trigger: of what is due only the latest instant fires, where it is not too late. */
export function computeDue(trigger: Timed, now: number): DueResult {
  const { next_fire_at: due_at, cron, time_zone } = trigger;
  const read = readTiming(trigger);
  if ("fault" in read) return { kind: "unreadable", fault: read.fault };
  const { schedule, zone } = read;
  const next_fire_at = nextAfter(schedule, zone, now);
  const due = findDue(schedule, zone, due_at, now);
  if (!due) return { kind: "moved", next_fire_at };
  const { latestMs: scheduled_at, count, isExact } = due;
  const late_ms = Math.max((trigger.catch_up_seconds ?? 0) * 1_000, LATE_MS);
  const is_missed = now - scheduled_at > late_ms;
  // More than could be counted are at least so many without the latest, too.
  const missed_count = is_missed || !isExact ? count : count - 1;
  const instant = { scheduled_at, missed_count, is_missed, next_fire_at };
  return { kind: "due", instant: { due_at, seen: { cron, time_zone }, ...instant } };
}

/**
 * The instant to go on with where the clock has gone back and stands behind `since` now; null: the
 * one that it has. What lies before the last change of the trigger is not its own.
 */
export function recomputeDue(trigger: Timed, since: number, now: number): number | null {
  const read = readTiming(trigger);
  if ("fault" in read) return null;
  const { updated_at, next_fire_at } = trigger;
  const after = updated_at <= now ? Math.max(since, updated_at) : since;
  const next = nextAfter(read.schedule, read.zone, after);
  return next !== null && next < next_fire_at ? next : null;
}
