// Deletes what is old: finished runs, events that were told, keys of requests. Sums and messages
// stay.
import { outboxStore } from "../platform/outbox/store.ts";
import type { Service } from "../platform/service.ts";
import { createSweeping, sweepRows } from "../platform/sweeping.ts";
import type { Around } from "./around.ts";
import { IDEMPOTENCY_MS } from "./runs/store/admission.ts";
import { runStore } from "./runs/store/index.ts";

/** A run has many rows beside it: a write of so many takes milliseconds all the same. */
const RUNS_AT_ONCE = 100;

export function createRetention({ database, clock, log, settings }: Around): Service {
  const runs = database.bind(runStore);
  const outbox = database.bind(outboxStore);

  const sweepRuns = async (isStopping: () => boolean, until: number) => {
    for (let after: string | null = ""; after !== null && !isStopping(); ) {
      after = (await runs.sweep(after, until, RUNS_AT_ONCE)).after_id;
    }
  };
  return createSweeping({
    ...{ name: "retention of runs", what: "old runs and events", clock, log },
    async sweep(isStopping) {
      const now = clock.now();
      const keep = settings().retention;
      if (keep.runs !== null) await sweepRuns(isStopping, now - keep.runs);
      const { events } = keep;
      if (events !== null) {
        await sweepRows(isStopping, (limit) => outbox.sweep(now - events, limit));
      }
      await sweepRows(isStopping, (limit) => runs.sweepStarts(now - IDEMPOTENCY_MS, limit));
    },
  });
}
