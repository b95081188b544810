// Sums of finished runs by day and agent; runs write them when they end.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../../database/index.ts";
import { maybe } from "../../platform/schema.ts";

export type RunUsageGrouping = "day" | "agent";

export const RunUsage = Type.Object({
  name: Type.String(),
  runs: Type.Integer(),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  budget_exceeded: Type.Integer(),
  cancelled: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  tool_calls: Type.Integer(),
  /** Micro-SAR of the runs with a known cost. */
  cost_sar: maybe(Type.Integer()),
  unpriced_runs: Type.Integer(),
});
export type RunUsage = Static<typeof RunUsage>;

const NAMES = { day: sql`day`, agent: sql`agent_id` };

export const usageStore = store(
  "usage",
  {
    /** agents.endpoints.usage.1: includes both days; sorted by day or agent. */
    sum: (db, account_id: string, by: RunUsageGrouping, from: string, to: string) =>
      db.all(
        RunUsage,
        sql`SELECT ${NAMES[by]} AS name, SUM(runs) AS runs, SUM(succeeded) AS succeeded,
              SUM(failed) AS failed, SUM(budget_exceeded) AS budget_exceeded,
              SUM(cancelled) AS cancelled, SUM(prompt_tokens) AS prompt_tokens,
              SUM(completion_tokens) AS completion_tokens, SUM(total_tokens) AS total_tokens,
              SUM(tool_calls) AS tool_calls, SUM(cost_sar) AS cost_sar,
              SUM(unpriced_runs) AS unpriced_runs
            FROM run_days WHERE account_id = ${account_id} AND day >= ${from} AND day <= ${to}
            GROUP BY ${NAMES[by]} ORDER BY ${NAMES[by]}`,
      ),
  },
  {},
);
