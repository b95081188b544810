// Which fires grow old: as long as a sender's request is known by its id, its fire is there.
import type { Database } from "../database/index.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { triggerStore } from "./store/index.ts";

/** agents.endpoints.triggers.p6: so long a `webhook-id` is known at least. */
const FIRES_KEPT_MS = 30 * 86_400_000;

export interface FireSweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

export function createFireSweeps({ database, settings }: FireSweepOptions): Sweep[] {
  const triggers = database.bind(triggerStore);
  return [
    {
      what: "fires",
      async run(now, isStopping) {
        const { events } = settings().retention;
        if (events === null) return 0;
        const until = now - Math.max(events, FIRES_KEPT_MS);
        return sweepRows(isStopping, (limit) => triggers.sweepFires(until, limit));
      },
    },
  ];
}
