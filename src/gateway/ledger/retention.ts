// Deletes entries of the ledger that are older than the settings want them kept; sums stay.
import type { Clock } from "../../platform/clock.ts";
import type { Bound } from "../../platform/database/index.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import { createSweeping, sweepRows } from "../../platform/sweeping.ts";
import type { ledgerStore } from "./store.ts";

export interface RetentionOptions {
  store: Pick<Bound<typeof ledgerStore>, "sweep">;
  clock: Clock;
  log: Log;
  /** How long, as it is wanted now; null: for ever. */
  keepMs(): number | null;
}

export function createRetention({ store, clock, log, keepMs }: RetentionOptions): Service {
  return createSweeping({
    ...{ name: "retention", what: "old entries of the ledger", clock, log },
    async sweep(isStopping) {
      const keep_ms = keepMs();
      if (keep_ms === null) return;
      const until = clock.now() - keep_ms;
      await sweepRows(isStopping, (limit) => store.sweep(until, limit));
    },
  });
}
