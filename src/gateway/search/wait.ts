// How long a search engine told us to wait: until then it is not asked again.
import type { UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";

/** Callers wait for a minute by themselves; for longer an engine is as good as gone. */
export const LONG_WAIT_MS = 60_000;

export interface Wait {
  /** null: it may be asked. */
  find(): UpstreamError | null;
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
      return {
        ok: false,
        code: "upstream_rate_limited",
        retryable: false,
        reason: why,
        retryAfterMs: retry_after_ms,
      };
    },
    note(wait_ms) {
      // What several requests at once were told: the longest holds.
      until = Math.max(until, clock.monotonic() + wait_ms);
    },
    left_ms,
  };
}
