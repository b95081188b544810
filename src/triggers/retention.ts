// Deletes old fires: as long as a sender's request is known by its id, its fire is there.
import type { Service } from "../platform/service.ts";
import { createSweeping, sweepRows } from "../platform/sweeping.ts";
import type { Around } from "./around.ts";
import { triggerStore } from "./store/index.ts";

/** agents.endpoints.triggers.p6: so long a `webhook-id` is known at least. */
const FIRES_KEPT_MS = 30 * 86_400_000;

export function createRetention({ database, clock, log, settings }: Around): Service {
  const triggers = database.bind(triggerStore);
  return createSweeping({
    ...{ name: "retention of fires", what: "old fires", clock, log },
    async sweep(isStopping) {
      const { events } = settings().retention;
      if (events === null) return;
      const until = clock.now() - Math.max(events, FIRES_KEPT_MS);
      await sweepRows(isStopping, (limit) => triggers.sweepFires(until, limit));
    },
  });
}
