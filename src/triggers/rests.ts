// Triggers that could not be fired rest before they are tried again, longer each time.
import type { Clock } from "../platform/clock.ts";

const FIRST_REST_MS = 5_000;
/** Once what failed is mended, an instant of this minute is still on time. */
const REST_MS_MAX = 30_000;
/** More are not remembered: the oldest are forgotten, and tried as if for the first time. */
const RESTS_MAX = 10_000;

interface Rest {
  account_id: string;
  rest_ms: number;
  /** On the monotonic clock. */
  ends_at: number;
}

interface Resting {
  id: string;
  account_id: string;
}

export interface Rests {
  begin(trigger: Resting): void;
  /** It could be fired. */
  forget(trigger: Resting): void;
  has(trigger: Resting): boolean;
  /** How many of an account's triggers rest, or have rested and were not fired since. */
  count(account_id: string): number;
  /** Until the next of them may be tried again; Infinity: none rests. */
  nextEndIn(): number;
}

export function createRests(clock: Clock): Rests {
  const rests = new Map<string, Rest>();
  return {
    begin({ id, account_id }) {
      const before_ms = rests.get(id)?.rest_ms ?? FIRST_REST_MS / 2;
      const rest_ms = Math.min(before_ms * 2, REST_MS_MAX);
      // Deleted first: the order is that of their last failures.
      rests.delete(id);
      if (rests.size >= RESTS_MAX) rests.delete(rests.keys().next().value!);
      rests.set(id, { account_id, rest_ms, ends_at: clock.monotonic() + rest_ms });
    },
    forget: ({ id }) => void rests.delete(id),
    has({ id }) {
      const rest = rests.get(id);
      return rest !== undefined && rest.ends_at > clock.monotonic();
    },
    count(account_id) {
      let count = 0;
      for (const rest of rests.values()) if (rest.account_id === account_id) count++;
      return count;
    },
    nextEndIn() {
      const now = clock.monotonic();
      let least_ms = Number.POSITIVE_INFINITY;
      for (const { ends_at } of rests.values()) {
        if (ends_at > now) least_ms = Math.min(least_ms, ends_at - now);
      }
      return least_ms;
    },
  };
}
