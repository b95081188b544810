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

/** `settledMs`: time since the start, or since the clock was set, by the monotonic clock. */
export function decideSweep(row: SweepRow, now: number, settledMs: number): SweepDecision {
  const { swept_at, witnessed_at } = row;
  if (swept_at === null || witnessed_at === null) return "wait";
  if (isDoubtful(row, now) && settledMs < DAY_MS) return "doubtful";
  const sinceMs = now - swept_at;
  if (sinceMs > DAY_MS) return "sweep";
  // A time that lies ahead is that of a clock which was wrong then.
  const isRecent = sinceMs >= 0 && sinceMs < HOUR_MS;
  return settledMs < HOUR_MS || isRecent ? "wait" : "sweep";
}

/** Whether the clock is far ahead of what was written last. */
export function isDoubtful({ witnessed_at }: SweepRow, now: number): boolean {
  return witnessed_at !== null && now - witnessed_at > DOUBT_MS;
}
