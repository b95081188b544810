// Which entries of the ledger are older than the settings want them kept; sums stay.
import type { Database } from "../../database/index.ts";
import { type Sweep, sweepRows } from "../../retention/index.ts";
import type { Settings } from "../../settings/index.ts";
import { requestLogStore } from "./store.ts";

export interface RequestLogSweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

export function createRequestLogSweeps({ database, settings }: RequestLogSweepOptions): Sweep[] {
  const store = database.bind(requestLogStore);
  return [
    {
      what: "entries of the ledger",
      async run(now, isStopping) {
        const keepMs = settings().retention.request_log;
        if (keepMs === null) return 0;
        return sweepRows(isStopping, (limit) => store.sweep(now - keepMs, limit));
      },
    },
  ];
}
