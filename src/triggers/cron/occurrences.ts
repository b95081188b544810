// The instants at which a schedule fires in a time zone. Clock changes split time into stretches,
// inside which a schedule is plain arithmetic.
import { isZone } from "../../platform/zone.ts";
import type { Schedule } from "./schedule.ts";

export interface Stretch {
  /** First instant; -Infinity before the first clock change. */
  startMs: number;
  endMs: number;
  /** Wall time less UTC. */
  offsetMs: number;
  /** Offset before `startMs`; equal to `offsetMs` when no change came before. */
  offsetBeforeMs: number;
}

export interface Due {
  latestMs: number;
  /** Number of due instants, the latest included; a lower bound unless exact. */
  count: number;
  isExact: boolean;
}

export const DUE_COUNT_MAX = 10_000;

/** The rarest schedule, 29 February, fires again after eight years at most. */
const SEARCH_MS = 40 * 366 * 86_400_000;

/** Finds the first instant after this one, within forty years. */
export function nextAfter(schedule: Schedule, zone: string, afterMs: number): number | null {
  const limitMs = afterMs + SEARCH_MS;
  for (let fromMs = afterMs + 1; fromMs < limitMs; ) {
    const stretch = stretchAt(zone, fromMs);
    const foundMs = firstIn(schedule, stretch, fromMs);
    if (foundMs !== null) return foundMs;
    fromMs = stretch.endMs;
  }
  return null;
}

export function upcoming(
  schedule: Schedule,
  zone: string,
  afterMs: number,
  count: number,
): number[] {
  const found: number[] = [];
  for (let lastMs: number | null = afterMs; found.length < count; found.push(lastMs)) {
    lastMs = nextAfter(schedule, zone, lastMs);
    if (lastMs === null) break;
  }
  return found;
}

/** Finds the due instants in [firstMs, nowMs]. */
export function findDue(
  schedule: Schedule,
  zone: string,
  firstMs: number,
  nowMs: number,
): Due | null {
  let latestMs: number | null = null;
  let count = 0;
  // Newest stretch first, so that the latest instant is known even if counting ends early.
  for (let toMs = nowMs + 1; toMs > firstMs && count <= DUE_COUNT_MAX; ) {
    const stretch = stretchAt(zone, toMs - 1);
    latestMs ??= lastIn(schedule, stretch, firstMs, toMs);
    count += countIn(schedule, stretch, firstMs, toMs, DUE_COUNT_MAX + 1 - count);
    toMs = stretch.startMs;
  }
  if (latestMs === null) return null;
  const isExact = count <= DUE_COUNT_MAX;
  return { latestMs, count: isExact ? count : DUE_COUNT_MAX, isExact };
}

function firstIn(schedule: Schedule, stretch: Stretch, fromMs: number): number | null {
  if (fromMs <= stretch.startMs && opensWithGap(schedule, stretch)) return stretch.startMs;
  const wallMs = schedule.earliest(Math.max(fromMs + stretch.offsetMs, newFrom(schedule, stretch)));
  if (wallMs === null || wallMs - stretch.offsetMs >= stretch.endMs) return null;
  return wallMs - stretch.offsetMs;
}

function lastIn(schedule: Schedule, stretch: Stretch, fromMs: number, toMs: number): number | null {
  const wallMs = schedule.latest(toMs - 1 + stretch.offsetMs);
  const newFromMs = Math.max(fromMs + stretch.offsetMs, newFrom(schedule, stretch));
  if (wallMs !== null && wallMs >= newFromMs) return wallMs - stretch.offsetMs;
  return fromMs <= stretch.startMs && opensWithGap(schedule, stretch) ? stretch.startMs : null;
}

/** Counts instants of a stretch in [fromMs, toMs), up to `most`. */
function countIn(
  schedule: Schedule,
  stretch: Stretch,
  fromMs: number,
  toMs: number,
  most: number,
): number {
  const { offsetMs, startMs } = stretch;
  const newFromMs = Math.max(fromMs + offsetMs, newFrom(schedule, stretch));
  const count = schedule.count(newFromMs, toMs + offsetMs, most);
  if (fromMs > startMs || !opensWithGap(schedule, stretch)) return count;
  // A time inside the gap and one named at its end are the same instant.
  return schedule.earliest(startMs + offsetMs) === startMs + offsetMs ? count : count + 1;
}

/**
 * Detects a schedule that names times which the clocks skipped; they fire at the stretch's start.
 * An hourly schedule follows real time, of which nothing is skipped.
 */
function opensWithGap(schedule: Schedule, stretch: Stretch): boolean {
  const { startMs, offsetMs, offsetBeforeMs } = stretch;
  if (schedule.isEveryHour || offsetMs <= offsetBeforeMs) return false;
  const skippedMs = schedule.earliest(startMs + offsetBeforeMs);
  return skippedMs !== null && skippedMs < startMs + offsetMs;
}

/**
 * First wall time of a stretch that was not shown before. Repeated times fired the first time; an
 * hourly schedule follows real time and fires in both.
 */
function newFrom(schedule: Schedule, stretch: Stretch): number {
  const { startMs, offsetMs, offsetBeforeMs } = stretch;
  return startMs + (schedule.isEveryHour ? offsetMs : Math.max(offsetMs, offsetBeforeMs));
}

export function zoneFault(name: string): string | null {
  return isZone(name)
    ? null
    : "`time_zone` has to be the name of an IANA time zone, such as `Asia/Riyadh` or `UTC`.";
}

export function stretchAt(zone: string, timeMs: number): Stretch {
  // "previous" excludes a change at the very instant.
  const start = inZone(zone, timeMs + 1).getTimeZoneTransition("previous");
  const end = inZone(zone, timeMs).getTimeZoneTransition("next");
  const offsetMs = offsetAt(zone, timeMs);
  const startMs = start?.epochMilliseconds ?? -Infinity;
  return {
    startMs,
    endMs: end?.epochMilliseconds ?? Infinity,
    offsetMs,
    offsetBeforeMs: start ? offsetAt(zone, startMs - 1) : offsetMs,
  };
}

function offsetAt(zone: string, timeMs: number): number {
  return inZone(zone, timeMs).offsetNanoseconds / 1e6;
}

function inZone(zone: string, timeMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(timeMs).toZonedDateTimeISO(zone);
}
