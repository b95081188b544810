// Times as operators type them.
import { readDay, readInstant } from "../platform/calendar.ts";
import { parseDuration } from "../platform/duration.ts";

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
