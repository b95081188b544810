// Applies a trigger's schedule to the clock: what is due, what was missed, and what comes next.
import { findDue, nextAfter, upcoming, zoneFault } from "./cron/occurrences.ts";
import { readSchedule, type Schedule } from "./cron/schedule.ts";
import type { DueInstant } from "./store/fire.ts";
import type { TriggerRow } from "./trigger.ts";

/** `moved`: nothing is due, since the zone's clocks changed · `unreadable`: see the fault. */
export type DueResult =
  | { kind: "due"; instant: DueInstant }
  | { kind: "moved"; nextFireAt: number | null }
  | { kind: "unreadable"; fault: string };

type Timing = Pick<TriggerRow, "cron" | "time_zone">;
type TimedTrigger = Timing &
  Pick<TriggerRow, "catch_up_seconds" | "updated_at"> & { next_fire_at: number };

/** Delay that every trigger tolerates; `catch_up_seconds` only extends it. */
const LATE_MS = 60_000;
const UPCOMING_MAX = 3;

/** agents.does.trigger: only the latest due instant fires, unless it is too late. */
export function computeDue(trigger: TimedTrigger, now: number): DueResult {
  const { next_fire_at: dueAt, cron, time_zone } = trigger;
  const timing = readTiming(trigger);
  if ("fault" in timing) return { kind: "unreadable", fault: timing.fault };
  const { schedule, zone } = timing;
  const nextFireAt = nextAfter(schedule, zone, now);
  const due = findDue(schedule, zone, dueAt, now);
  if (!due) return { kind: "moved", nextFireAt };
  const { latestMs: scheduledAt, count, isExact } = due;
  const lateMs = Math.max((trigger.catch_up_seconds ?? 0) * 1_000, LATE_MS);
  const isMissed = now - scheduledAt > lateMs;
  // An inexact count is a lower bound, with or without the latest instant.
  const missedCount = isMissed || !isExact ? count : count - 1;
  const seen = { cron, time_zone };
  return { kind: "due", instant: { dueAt, seen, scheduledAt, missedCount, isMissed, nextFireAt } };
}

/**
 * Finds an earlier next instant after the clock went back, or null to keep the present one. No
 * instant before the trigger's last change counts.
 */
export function recomputeDue(trigger: TimedTrigger, since: number, now: number): number | null {
  const timing = readTiming(trigger);
  if ("fault" in timing) return null;
  const { updated_at, next_fire_at } = trigger;
  const after = updated_at <= now ? Math.max(since, updated_at) : since;
  const next = nextAfter(timing.schedule, timing.zone, after);
  return next !== null && next < next_fire_at ? next : null;
}

export function findNext(timing: Timing, after: number): number | null {
  const found = readTiming(timing);
  return "fault" in found ? null : nextAfter(found.schedule, found.zone, after);
}

/** Lists the next fires, beginning with the stored one even when it is overdue. */
export function listUpcoming(row: Timing & Pick<TriggerRow, "next_fire_at">): number[] {
  const { next_fire_at } = row;
  if (next_fire_at === null) return [];
  const found = readTiming(row);
  if ("fault" in found) return [next_fire_at];
  const { schedule, zone } = found;
  return [next_fire_at, ...upcoming(schedule, zone, next_fire_at, UPCOMING_MAX - 1)];
}

/** A stored zone may be one that this installation no longer knows. */
function readTiming({
  cron,
  time_zone,
}: Timing): { schedule: Schedule; zone: string } | { fault: string } {
  const zone = time_zone ?? "";
  const fault = zoneFault(zone);
  if (fault !== null) return { fault };
  const reading = readSchedule(cron ?? "");
  return reading.ok ? { schedule: reading.schedule, zone } : reading;
}
