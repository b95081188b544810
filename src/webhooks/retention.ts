// Which deliveries go: those that are old, and those whose endpoint was deleted.
import type { Database } from "../platform/database/index.ts";
import type { Settings } from "../platform/settings/index.ts";
import { type Sweep, sweepRows } from "../platform/sweeps/sweep.ts";
import { webhookStore } from "./store/index.ts";

export interface DeliverySweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

export function createDeliverySweeps({ database, settings }: DeliverySweepOptions): Sweep[] {
  const store = database.bind(webhookStore);
  return [
    {
      what: "deliveries of deleted endpoints",
      run: (_now, isStopping) => sweepRows(isStopping, store.sweepGone),
    },
    {
      what: "deliveries",
      async run(now, isStopping) {
        const { events } = settings().retention;
        if (events === null) return 0;
        return sweepRows(isStopping, (limit) => store.sweep(now - events, limit));
      },
    },
  ];
}
