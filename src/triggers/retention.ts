// Retention of fires, which outlast the ids of signed requests.
import type { Database } from "../database/index.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { triggerStore } from "./store/index.ts";

/** agents.endpoints.triggers.p6: minimum time for which a `webhook-id` is known. */
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
