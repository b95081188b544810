// The instants at which a schedule fires in a time zone: the next ones, and those that are due.

import type { Schedule } from "./schedule.ts";
import { type Stretch, stretchAt } from "./zone.ts";

/** What has become due since a schedule was last looked at. */
export interface Due {
  /** The latest instant that is due. */
  latest_ms: number;
  /** How many are due, the latest included. */
  count: number;
  /** Whether that is all of them; otherwise there are at least so many. */
  is_exact: boolean;
}

export const DUE_COUNT_MAX = 10_000;

/** The rarest schedule, 29 February, fires again after eight years at most. */
const SEARCH_MS = 40 * 366 * 86_400_000;

/** The first instant after this one; null: none in forty years. */
export function nextAfter(schedule: Schedule, zone: string, after_ms: number): number | null {
  const limit_ms = after_ms + SEARCH_MS;
  for (let from_ms = after_ms + 1; from_ms < limit_ms; ) {
    const stretch = stretchAt(zone, from_ms);
    const found_ms = firstIn(schedule, stretch, from_ms);
    if (found_ms !== null) return found_ms;
    from_ms = stretch.end_ms;
  }
  return null;
}

/** The next instants after this one, the earliest first. */
export function upcoming(
  schedule: Schedule,
  zone: string,
  after_ms: number,
  count: number,
): number[] {
  const found: number[] = [];
  for (let last_ms: number | null = after_ms; found.length < count; found.push(last_ms)) {
    last_ms = nextAfter(schedule, zone, last_ms);
    if (last_ms === null) break;
  }
  return found;
}

/** What lies in [first, now]; null: nothing is due. */
export function findDue(
  schedule: Schedule,
  zone: string,
  first_ms: number,
  now_ms: number,
): Due | null {
  let latest_ms: number | null = null;
  let count = 0;
  // From the newest stretch back, so that the latest is known even where counting ends early.
  for (let to_ms = now_ms + 1; to_ms > first_ms && count <= DUE_COUNT_MAX; ) {
    const stretch = stretchAt(zone, to_ms - 1);
    latest_ms ??= lastIn(schedule, stretch, first_ms, to_ms);
    count += countIn(schedule, stretch, first_ms, to_ms, DUE_COUNT_MAX + 1 - count);
    to_ms = stretch.start_ms;
  }
  if (latest_ms === null) return null;
  const is_exact = count <= DUE_COUNT_MAX;
  return { latest_ms, count: is_exact ? count : DUE_COUNT_MAX, is_exact };
}

/** The first instant of a stretch that is not before `from_ms`. */
function firstIn(schedule: Schedule, stretch: Stretch, from_ms: number): number | null {
  if (from_ms <= stretch.start_ms && opensWithGap(schedule, stretch)) return stretch.start_ms;
  const wall_ms = schedule.earliest(
    Math.max(from_ms + stretch.offset_ms, newFrom(schedule, stretch)),
  );
  if (wall_ms === null || wall_ms - stretch.offset_ms >= stretch.end_ms) return null;
  return wall_ms - stretch.offset_ms;
}

/** The last instant of a stretch in [from, to). */
function lastIn(
  schedule: Schedule,
  stretch: Stretch,
  from_ms: number,
  to_ms: number,
): number | null {
  const wall_ms = schedule.latest(to_ms - 1 + stretch.offset_ms);
  const new_ms = Math.max(from_ms + stretch.offset_ms, newFrom(schedule, stretch));
  if (wall_ms !== null && wall_ms >= new_ms) return wall_ms - stretch.offset_ms;
  return from_ms <= stretch.start_ms && opensWithGap(schedule, stretch) ? stretch.start_ms : null;
}

/** How many instants of a stretch lie in [from, to); counting ends at `most`. */
function countIn(
  schedule: Schedule,
  stretch: Stretch,
  from_ms: number,
  to_ms: number,
  most: number,
): number {
  const { offset_ms, start_ms } = stretch;
  const new_ms = Math.max(from_ms + offset_ms, newFrom(schedule, stretch));
  const count = schedule.count(new_ms, to_ms + offset_ms, most);
  if (from_ms > start_ms || !opensWithGap(schedule, stretch)) return count;
  // What the gap held and what is named at its end is one and the same instant.
  return schedule.earliest(start_ms + offset_ms) === start_ms + offset_ms ? count : count + 1;
}

/**
 * Whether the stretch begins with a fire for times that its clocks passed over. A schedule for
 * every hour needs none: it goes by real time, of which nothing is missing.
 */
function opensWithGap(schedule: Schedule, stretch: Stretch): boolean {
  const { start_ms, offset_ms, offset_before_ms } = stretch;
  if (schedule.isEveryHour || offset_ms <= offset_before_ms) return false;
  const passed_ms = schedule.earliest(start_ms + offset_before_ms);
  return passed_ms !== null && passed_ms < start_ms + offset_ms;
}

/**
 * From which time on the clocks of a stretch show what they had not shown before. What they show a
 * second time fired the first time; an interval goes on in real time and fires in both.
 */
function newFrom(schedule: Schedule, stretch: Stretch): number {
  const { start_ms, offset_ms, offset_before_ms } = stretch;
  return start_ms + (schedule.isEveryHour ? offset_ms : Math.max(offset_ms, offset_before_ms));
}
