// When a trigger fires next, by its schedule and the clocks of its zone.
import { nextAfter, upcoming } from "./cron/occurrences.ts";
import { readSchedule, type Schedule } from "./cron/schedule.ts";
import { zoneFault } from "./cron/zone.ts";
import type { TriggerRow } from "./trigger.ts";

/** Of kind cron both are there, else neither. */
type Timing = Pick<TriggerRow, "cron" | "time_zone">;

/** As many fires to come are shown. */
const UPCOMING_MAX = 3;

/** The first instant behind this one; null: of kind webhook, or it never fires again. */
export function findNext(timing: Timing, after_ms: number): number | null {
  const found = readTiming(timing);
  return "fault" in found ? null : nextAfter(found.schedule, found.zone, after_ms);
}

/** The next fires, the first of which is the one that is stored, be it overdue. */
export function listUpcoming(row: Timing & Pick<TriggerRow, "next_fire_at">): number[] {
  const { next_fire_at } = row;
  if (next_fire_at === null) return [];
  const found = readTiming(row);
  if ("fault" in found) return [next_fire_at];
  const { schedule, zone } = found;
  return [next_fire_at, ...upcoming(schedule, zone, next_fire_at, UPCOMING_MAX - 1)];
}

/** The fault: in words for people; a zone may be one that this installation knows no more. */
export function readTiming({
  cron,
  time_zone,
}: Timing): { schedule: Schedule; zone: string } | { fault: string } {
  const zone = time_zone ?? "";
  const fault = zoneFault(zone);
  if (fault !== null) return { fault };
  const reading = readSchedule(cron ?? "");
  return reading.ok ? { schedule: reading.schedule, zone } : reading;
}
