// Times as operators type them.
import { readDay, readInstant } from "../platform/calendar.ts";
import { parseDuration } from "../platform/duration.ts";
import { AdminError } from "./errors.ts";

/** Reads a day, an instant or a duration before now; null for anything else. */
export function readTimeAgo(typed: string, now: number): number | null {
  const timeMs = readDay(typed) ?? readInstant(typed);
  if (timeMs !== null) return timeMs;
  try {
    return now - parseDuration(typed);
  } catch {
    return null;
  }
}

export function requireTime(typed: string, now: number): number {
  const timeMs = readTimeAgo(typed, now);
  if (timeMs === null) throw new AdminError(`"${typed}" is no time, such as 2027-01-05 or 1h`);
  return timeMs;
}
