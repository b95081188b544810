// How long a search engine told us to wait: until then it is not asked again.
import type { Failure } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { boundWait } from "../shared/retry-after.ts";

const SECOND_MS = 1_000;

/** Callers wait for a minute by themselves; for longer an engine is as good as gone. */
export const LONG_WAIT_MS = 60 * SECOND_MS;

export interface Wait {
  /** null: it may be asked. */
  find(): Failure | null;
  /** It told us to wait for so long from now on. */
  note(wait_ms: number): void;
  /** 0: it may be asked. */
  left_ms(): number;
}

export function createWait(clock: Clock): Wait {
  let until = Number.NEGATIVE_INFINITY;
  const left_ms = () => Math.max(0, until - clock.monotonic());
  return {
    find() {
      const retry_after_ms = left_ms();
      if (retry_after_ms === 0) return null;
      const why = "it is not asked, for it told us to wait";
      return { ok: false, code: "upstream_rate_limited", elsewhere: false, why, retry_after_ms };
    },
    note(wait_ms) {
      // What several requests at once were told: the longest holds.
      until = Math.max(until, clock.monotonic() + wait_ms);
    },
    left_ms,
  };
}

/**
 * Of the windows in which Brave counts, each with its limit, what is left of it and the seconds
 * until it is full again ("1, 15000" · "0, 12" · "1, 1419704"): the longest of those with nothing
 * left. A limit of 0 is none: plans without a limit a month say "50, 0". null: nothing is told.
 */
export function readWindows(
  limit: string | null,
  remaining: string | null,
  reset: string | null,
): number | null {
  const limits = readList(limit);
  const left = readList(remaining);
  let longest: number | null = null;
  for (const [index, seconds] of readList(reset).entries()) {
    if (limits[index] === 0 || left[index] !== 0) continue;
    const wait_ms = boundWait(seconds * SECOND_MS);
    if (wait_ms !== null) longest = Math.max(longest ?? 0, wait_ms);
  }
  return longest;
}

/** NaN where there is no number. */
function readList(text: string | null): number[] {
  if (text === null) return [];
  return text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
}
