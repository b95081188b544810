// Tests how long what budgets have counted is kept.
import { expect, test } from "bun:test";
import { createBudgetSweeps } from "../../../src/gateway/budgets/retention.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const DAY_MS = 86_400_000;

test("sums of minutes are kept for a day, those of quarters and alerts for two months", async () => {
  const swept: unknown[][] = [];
  const sweep = async (...row: unknown[]) => {
    // The last is the maximum number of rows.
    swept.push(row.slice(0, -1));
    return 0;
  };
  const store = { sweepUse: sweep, sweepAlerts: sweep };
  const database = { bind: () => store } as never;
  for (const { run } of createBudgetSweeps({ database })) await run(NOW, () => false);
  expect(swept).toEqual([
    [60_000, NOW - DAY_MS],
    [900_000, NOW - 62 * DAY_MS],
    [NOW - 62 * DAY_MS],
  ]);
});
