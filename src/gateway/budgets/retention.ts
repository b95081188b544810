// Retention of budgets: sums of past periods and their alerts are not read again.
import type { Database } from "../../database/index.ts";
import { type Sweep, sweepRows } from "../../retention/index.ts";
import { budgetStore, SPANS } from "./store.ts";

/** Time in which the clock may be set back without losing use: two of the longest months. */
const KEEP_MS = 62 * 86_400_000;

export function createBudgetSweeps({ database }: { database: Database }): Sweep[] {
  const store = database.bind(budgetStore);
  return [
    {
      what: "sums of budgets",
      async run(now, isStopping) {
        let rows = 0;
        for (const span of SPANS) {
          const until = now - keepMs(span);
          rows += await sweepRows(isStopping, (limit) => store.sweepUse(span, until, limit));
        }
        return rows;
      },
    },
    {
      what: "alerts of budgets",
      run: (now, isStopping) =>
        sweepRows(isStopping, (limit) => store.sweepAlerts(now - KEEP_MS, limit)),
    },
  ];
}

/** Sums of minutes matter for minutes only; a day is kept for clocks that are set back. */
function keepMs(span: number): number {
  return span === Math.min(...SPANS) ? KEEP_MS / 62 : KEEP_MS;
}
