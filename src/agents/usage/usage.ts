// Usage as callers see it: sums of finished runs over a window of days.
import { Type } from "@sinclair/typebox";
import { readDay, writeDay } from "../../platform/calendar.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { Money, maybe, Resource, show } from "../../platform/schema.ts";
import type { RunUsage, RunUsageGrouping } from "./store.ts";

const DAY_MS = 86_400_000;
/** Where `from` is left out: so many days, `to` among them. */
const DAYS_DEFAULT = 30;
/** agents.limits.usage_window, agents.endpoints.usage.2 */
const DAYS_APART_MAX = 92;
const FIRST = "2000-01-01";
const LAST = "9999-12-30";

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const SUMS = {
  runs: count("Runs that finished, in whatever final status."),
  succeeded: count("Of these `succeeded`."),
  failed: count("Of these `failed`."),
  budget_exceeded: count("Of these `budget_exceeded`."),
  cancelled: count("Of these `cancelled`."),
  prompt_tokens: count("Tokens read."),
  completion_tokens: count("Tokens written."),
  total_tokens: count("Both together."),
  tool_calls: count("Tool calls that were run."),
  cost_sar: maybe(Money("SAR of the runs whose cost is known; null: of none it is.")),
  unpriced_runs: count("Runs whose cost is unknown."),
};

/** agents.resources.usage_row */
const ROWS = {
  day: Resource(
    "AgentUsageDay",
    {
      date: Type.String({ description: "A day in UTC, such as 2026-11-20." }),
      ...SUMS,
    },
    "Runs that finished on one day.",
  ),
  agent: Resource(
    "AgentUsageAgent",
    {
      agent_id: Type.String({ format: "uuid", description: "The agent that ran." }),
      ...SUMS,
    },
    "Finished runs of one agent.",
  ),
};
const Totals = Resource("AgentUsageTotals", SUMS, "All rows together.");

export const UsageReport = Type.Object(
  {
    from: Type.String({ description: "The first day, in UTC." }),
    to: Type.String({ description: "The last day, included." }),
    group_by: Type.Union([Type.Literal("day"), Type.Literal("agent")], {
      description: "What each row is of.",
    }),
    rows: Type.Array(Type.Union([ROWS.day, ROWS.agent]), {
      description: "In the order of days or agents; those without runs are left out.",
    }),
    totals: Totals,
  },
  { $id: "AgentUsage", description: "Sums of the runs that finished in a window of days." },
);

const day = (description: string) =>
  Type.Optional(Type.String({ description, pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }));

/** agents.endpoints.usage.p2 */
export const UsageQuery = Type.Object({
  from: day("The first day, in UTC; left out: 29 days before `to`."),
  to: day("The last day, included; left out: today."),
  group_by: Type.Optional(
    Type.Union([Type.Literal("day"), Type.Literal("agent")], {
      description: "What is summed by; left out: `day`.",
    }),
  ),
});

export interface Window {
  from: string;
  to: string;
}

/** agents.endpoints.usage.2, agents.endpoints.usage.4: the days, or `invalid_request`. */
export function readWindow(query: { from?: string; to?: string }, now: number): Window {
  const to = query.to ?? writeDay(now);
  const last = readInRange("to", to);
  const from = query.from ?? chooseFirst(last);
  const first = readInRange("from", from);
  if (first > last) throw refuseDay("from", "must not lie behind `to`");
  if ((last - first) / DAY_MS > DAYS_APART_MAX) {
    throw refuseDay("from", `must be at most ${DAYS_APART_MAX} days before \`to\``);
  }
  return { from, to };
}

function chooseFirst(last: number): string {
  const from = writeDay(last - (DAYS_DEFAULT - 1) * DAY_MS);
  return from < FIRST ? FIRST : from;
}

function readInRange(param: string, text: string): number {
  const time_ms = readDay(text);
  if (time_ms === null) throw refuseDay(param, "must be a date of the calendar");
  if (text < FIRST || text > LAST) throw refuseDay(param, `must lie in ${FIRST} to ${LAST}`);
  return time_ms;
}

/** agents.errors.invalid_request */
function refuseDay(param: string, says: string): ApiError {
  return apiError("invalid_request", { param, message: `\`${param}\` ${says}.` });
}

/** The reply for sums by days or agents. */
export function writeReport(by: RunUsageGrouping, window: Window, sums: readonly RunUsage[]) {
  const rows = sums.map(({ name, ...sum }) =>
    by === "day"
      ? show(ROWS.day, { date: name, ...sum })
      : show(ROWS.agent, { agent_id: name, ...sum }),
  );
  return { ...window, group_by: by, rows, totals: show(Totals, sums.reduce(add, NOTHING)) };
}

type Sums = Omit<RunUsage, "name">;
/** agents.does.cost.1: what nothing priced costs is unknown, not zero. */
const NOTHING: Sums = {
  ...{ runs: 0, succeeded: 0, failed: 0, budget_exceeded: 0, cancelled: 0 },
  ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, tool_calls: 0 },
  ...{ cost_sar: null, unpriced_runs: 0 },
};

function add(total: Sums, sum: Sums): Sums {
  const added = { ...total };
  for (const name of COUNTS) added[name] += sum[name];
  if (sum.cost_sar !== null) added.cost_sar = (total.cost_sar ?? 0) + sum.cost_sar;
  return added;
}
const COUNTS = [
  ...(["runs", "succeeded", "failed", "budget_exceeded", "cancelled"] as const),
  ...(["prompt_tokens", "completion_tokens", "total_tokens"] as const),
  ...(["tool_calls", "unpriced_runs"] as const),
];
