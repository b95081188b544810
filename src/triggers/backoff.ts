// Triggers that could not be fired rest before they are tried again, longer each time.
import type { Clock } from "../platform/clock.ts";

const FIRST_REST_MS = 5_000;
/** Once what failed is mended, an instant of this minute is still on time. */
const REST_MS_MAX = 30_000;
/** More are not remembered: the oldest are forgotten, and tried as if for the first time. */
const RESTS_MAX = 10_000;

interface Rest {
  account_id: string;
  restMs: number;
  /** On the monotonic clock. */
  endsAt: number;
}

interface Resting {
  id: string;
  account_id: string;
}

export interface Backoffs {
  begin(trigger: Resting): void;
  /** It could be fired. */
  forget(trigger: Resting): void;
  has(trigger: Resting): boolean;
  /** How many of an account's triggers rest, or have rested and were not fired since. */
  count(account_id: string): number;
  /** Until the next of them may be tried again; Infinity: none rests. */
  nextEndIn(): number;
}

export function createBackoffs(clock: Clock): Backoffs {
  const rests = new Map<string, Rest>();
  return {
    begin({ id, account_id }) {
      const before_ms = rests.get(id)?.restMs ?? FIRST_REST_MS / 2;
      const restMs = Math.min(before_ms * 2, REST_MS_MAX);
      // Deleted first: the order is that of their last failures.
      rests.delete(id);
      if (rests.size >= RESTS_MAX) rests.delete(rests.keys().next().value!);
      rests.set(id, { account_id, restMs, endsAt: clock.monotonic() + restMs });
    },
    forget: ({ id }) => void rests.delete(id),
    has({ id }) {
      const rest = rests.get(id);
      return rest !== undefined && rest.endsAt > clock.monotonic();
    },
    count(account_id) {
      let count = 0;
      for (const rest of rests.values()) if (rest.account_id === account_id) count++;
      return count;
    },
    nextEndIn() {
      const now = clock.monotonic();
      let leastMs = Number.POSITIVE_INFINITY;
      for (const { endsAt } of rests.values()) {
        if (endsAt > now) leastMs = Math.min(leastMs, endsAt - now);
      }
      return leastMs;
    },
  };
}
