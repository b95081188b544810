// Whether old rows may be deleted now: a clock that is wrong must not make everything look old.
import type { SweepRow } from "./store.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A clock this far ahead of what was written last is in doubt. */
const DOUBT_MS = 7 * DAY_MS;

/**
 * `wait`: it is too early · `doubtful`: the clock is so far ahead of what was written last that
 * nothing is deleted before it has run for a day.
 */
export type SweepDecision = "sweep" | "wait" | "doubtful";

/** `settled_ms`: time since the start, or since the clock was set, by the monotonic clock. */
export function decideSweep(row: SweepRow, now: number, settled_ms: number): SweepDecision {
  const { swept_at, witnessed_at } = row;
  if (swept_at === null || witnessed_at === null) return "wait";
  if (isDoubtful(row, now) && settled_ms < DAY_MS) return "doubtful";
  const since_ms = now - swept_at;
  if (since_ms > DAY_MS) return "sweep";
  // A time that lies ahead is that of a clock which was wrong then.
  const isRecent = since_ms >= 0 && since_ms < HOUR_MS;
  return settled_ms < HOUR_MS || isRecent ? "wait" : "sweep";
}

/** Whether the clock is far ahead of what was written last. */
export function isDoubtful({ witnessed_at }: SweepRow, now: number): boolean {
  return witnessed_at !== null && now - witnessed_at > DOUBT_MS;
}
