// Deletes deliveries that are old, and those whose endpoint was deleted.
import type { Service } from "../platform/service.ts";
import { createSweeping, sweepRows } from "../platform/sweeping.ts";
import type { Around } from "./around.ts";
import { webhookStore } from "./store/index.ts";

export function createRetention({
  database,
  clock,
  log,
  settings,
}: Pick<Around, "database" | "clock" | "log" | "settings">): Service {
  const store = database.bind(webhookStore);
  return createSweeping({
    ...{ name: "retention of deliveries", what: "old deliveries", clock, log },
    async sweep(isStopping) {
      await sweepRows(isStopping, store.sweepGone);
      const { events } = settings().retention;
      if (events === null) return;
      const until = clock.now() - events;
      await sweepRows(isStopping, (limit) => store.sweep(until, limit));
    },
  });
}
