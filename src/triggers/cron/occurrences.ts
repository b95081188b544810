// The instants at which a schedule fires in a time zone: the next ones, and those that are due.

import type { Schedule } from "./schedule.ts";
import { type Stretch, stretchAt } from "./zone.ts";

/** What has become due since a schedule was last looked at. */
export interface Due {
  /** The latest instant that is due. */
  latestMs: number;
  /** How many are due, the latest included. */
  count: number;
  /** Whether that is all of them; otherwise there are at least so many. */
  isExact: boolean;
}

export const DUE_COUNT_MAX = 10_000;

/** The rarest schedule, 29 February, fires again after eight years at most. */
const SEARCH_MS = 40 * 366 * 86_400_000;

/** The first instant after this one; null: none in forty years. */
export function nextAfter(schedule: Schedule, zone: string, after_ms: number): number | null {
  const limitMs = after_ms + SEARCH_MS;
  for (let fromMs = after_ms + 1; fromMs < limitMs; ) {
    const stretch = stretchAt(zone, fromMs);
    const foundMs = firstIn(schedule, stretch, fromMs);
    if (foundMs !== null) return foundMs;
    fromMs = stretch.endMs;
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
  for (let lastMs: number | null = after_ms; found.length < count; found.push(lastMs)) {
    lastMs = nextAfter(schedule, zone, lastMs);
    if (lastMs === null) break;
  }
  return found;
}

/** What lies in [first, now]; null: nothing is due. */
export function findDue(
  schedule: Schedule,
  zone: string,
  firstMs: number,
  now_ms: number,
): Due | null {
  let latestMs: number | null = null;
  let count = 0;
  // From the newest stretch back, so that the latest is known even where counting ends early.
  for (let toMs = now_ms + 1; toMs > firstMs && count <= DUE_COUNT_MAX; ) {
    const stretch = stretchAt(zone, toMs - 1);
    latestMs ??= lastIn(schedule, stretch, firstMs, toMs);
    count += countIn(schedule, stretch, firstMs, toMs, DUE_COUNT_MAX + 1 - count);
    toMs = stretch.start_ms;
  }
  if (latestMs === null) return null;
  const isExact = count <= DUE_COUNT_MAX;
  return { latestMs, count: isExact ? count : DUE_COUNT_MAX, isExact };
}

/** The first instant of a stretch that is not before `fromMs`. */
function firstIn(schedule: Schedule, stretch: Stretch, fromMs: number): number | null {
  if (fromMs <= stretch.start_ms && opensWithGap(schedule, stretch)) return stretch.start_ms;
  const wall_ms = schedule.earliest(
    Math.max(fromMs + stretch.offsetMs, newFrom(schedule, stretch)),
  );
  if (wall_ms === null || wall_ms - stretch.offsetMs >= stretch.endMs) return null;
  return wall_ms - stretch.offsetMs;
}

/** The last instant of a stretch in [from, to). */
function lastIn(schedule: Schedule, stretch: Stretch, fromMs: number, toMs: number): number | null {
  const wall_ms = schedule.latest(toMs - 1 + stretch.offsetMs);
  const newMs = Math.max(fromMs + stretch.offsetMs, newFrom(schedule, stretch));
  if (wall_ms !== null && wall_ms >= newMs) return wall_ms - stretch.offsetMs;
  return fromMs <= stretch.start_ms && opensWithGap(schedule, stretch) ? stretch.start_ms : null;
}

/** How many instants of a stretch lie in [from, to); counting ends at `most`. */
function countIn(
  schedule: Schedule,
  stretch: Stretch,
  fromMs: number,
  toMs: number,
  most: number,
): number {
  const { offsetMs, start_ms } = stretch;
  const newMs = Math.max(fromMs + offsetMs, newFrom(schedule, stretch));
  const count = schedule.count(newMs, toMs + offsetMs, most);
  if (fromMs > start_ms || !opensWithGap(schedule, stretch)) return count;
  // What the gap held and what is named at its end is one and the same instant.
  return schedule.earliest(start_ms + offsetMs) === start_ms + offsetMs ? count : count + 1;
}

/**
 * Whether the stretch begins with a fire for times that its clocks passed over. A schedule for
 * every hour needs none: it goes by real time, of which nothing is missing.
 */
function opensWithGap(schedule: Schedule, stretch: Stretch): boolean {
  const { start_ms, offsetMs, offsetBeforeMs } = stretch;
  if (schedule.isEveryHour || offsetMs <= offsetBeforeMs) return false;
  const passed_ms = schedule.earliest(start_ms + offsetBeforeMs);
  return passed_ms !== null && passed_ms < start_ms + offsetMs;
}

/**
 * From which time on the clocks of a stretch show what they had not shown before. What they show a
 * second time fired the first time; an interval goes on in real time and fires in both.
 */
function newFrom(schedule: Schedule, stretch: Stretch): number {
  const { start_ms, offsetMs, offsetBeforeMs } = stretch;
  return start_ms + (schedule.isEveryHour ? offsetMs : Math.max(offsetMs, offsetBeforeMs));
}
