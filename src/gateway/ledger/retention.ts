// Which entries of the ledger are older than the settings want them kept; sums stay.
import type { Database } from "../../platform/database/index.ts";
import type { Settings } from "../../platform/settings/index.ts";
import { type Sweep, sweepRows } from "../../platform/sweeps/sweep.ts";
import { ledgerStore } from "./store.ts";

export interface LedgerSweepOptions {
  database: Database;
  settings(): Pick<Settings, "retention">;
}

export function createLedgerSweeps({ database, settings }: LedgerSweepOptions): Sweep[] {
  const store = database.bind(ledgerStore);
  return [
    {
      what: "entries of the ledger",
      async run(now, isStopping) {
        const keep_ms = settings().retention.request_log;
        if (keep_ms === null) return 0;
        return sweepRows(isStopping, (limit) => store.sweep(now - keep_ms, limit));
      },
    },
  ];
}
