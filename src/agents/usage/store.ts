// Sums of finished runs by day and agent; runs write them when they end.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../../database/index.ts";
import { Money, maybe } from "../../platform/schema.ts";

export const GROUPINGS = ["day", "agent"] as const;
export type RunUsageGrouping = (typeof GROUPINGS)[number];

const count = (description: string) => Type.Integer({ description, minimum: 0 });

/** agents.resources.usage_row */
export const SUMS = {
  runs: count("Finished runs."),
  succeeded: count("Runs that succeeded."),
  failed: count("Runs that failed."),
  budget_exceeded: count("Runs that exceeded a budget."),
  cancelled: count("Runs that were cancelled."),
  prompt_tokens: count("Tokens read."),
  completion_tokens: count("Tokens written."),
  total_tokens: count("Tokens read and written."),
  tool_calls: count("Executed tool calls."),
  cost_sar: maybe(Money("SAR of the runs with a known cost; null without such a run.")),
  unpriced_runs: count("Runs of unknown cost."),
};

const RunUsage = Type.Object({ name: Type.String(), ...SUMS });
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
