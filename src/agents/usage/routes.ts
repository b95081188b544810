// GET /v1/agents/usage: sums of finished runs over a range of days.
import { type Static, Type } from "@sinclair/typebox";
import { accountOf } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import type { Router } from "../../http/index.ts";
import { readDay, writeDay } from "../../platform/calendar.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { oneOf, Resource, show } from "../../platform/schema.ts";
import type { AgentsDeps } from "../deps.ts";
import { GROUPINGS, type RunUsage, type RunUsageGrouping, SUMS, usageStore } from "./store.ts";

const DAY_MS = 86_400_000;
const DAYS_DEFAULT = 30;
/** agents.limits.usage_window, agents.endpoints.usage.2 */
const DAYS_APART_MAX = 92;
const FIRST = "2000-01-01";
const LAST = "9999-12-30";

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

const UsageReport = Type.Object(
  {
    from: Type.String({ description: "The first day, in UTC." }),
    to: Type.String({ description: "The last day, included." }),
    group_by: oneOf(GROUPINGS, "Kind of the rows."),
    rows: Type.Array(Type.Union([ROWS.day, ROWS.agent]), {
      description: "Rows by day or agent; those without runs are absent.",
    }),
    totals: Totals,
  },
  { $id: "AgentUsage", description: "Sums of the runs that finished in a range of days." },
);

const day = (description: string) =>
  Type.Optional(Type.String({ description, pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }));

/** agents.endpoints.usage.p2 */
export const UsageQuery = Type.Object({
  from: day("First day in UTC; default 29 days before `to`."),
  to: day("Last day, included; default today."),
  group_by: Type.Optional(oneOf(GROUPINGS, "Kind of the rows; default `day`.")),
});

interface DayRange {
  from: string;
  to: string;
}

export function openUsageRoute(router: Router, { database, clock }: AgentsDeps): void {
  const usage = database.bind(usageStore);
  // agents.endpoints.usage.p1
  router.get(
    "/v1/agents/usage",
    {
      summary: "Sum what runs used",
      description: "Sums runs that finished in a range of days; a run counts on the day it ended.",
      scope: "agents",
      // agents.authentication.3
      isScopeCertain: true,
      query: UsageQuery,
      replies: { 200: { description: "The sums.", schema: UsageReport } },
      refusals: ["invalid_request"],
    },
    async ({ caller, query }) => [
      200,
      await sumUsage(usage, accountOf(caller), query, clock.now()),
    ],
  );
}

export async function sumUsage(
  usage: Bound<typeof usageStore>,
  account_id: string,
  query: Static<typeof UsageQuery>,
  now: number,
) {
  // agents.endpoints.usage.3
  const by = query.group_by ?? "day";
  const range = readRange(query, now);
  return writeReport(by, range, await usage.sum(account_id, by, range.from, range.to));
}

/** agents.endpoints.usage.2, agents.endpoints.usage.4 */
function readRange(query: { from?: string; to?: string }, now: number): DayRange {
  const to = query.to ?? writeDay(now);
  const last = readInRange("to", to);
  const from = query.from ?? chooseFirst(last);
  const first = readInRange("from", from);
  if (first > last) throw invalidDay("from", "must not lie behind `to`");
  if ((last - first) / DAY_MS > DAYS_APART_MAX) {
    throw invalidDay("from", `must be at most ${DAYS_APART_MAX} days before \`to\``);
  }
  return { from, to };
}

function chooseFirst(last: number): string {
  const from = writeDay(last - (DAYS_DEFAULT - 1) * DAY_MS);
  return from < FIRST ? FIRST : from;
}

function readInRange(param: string, text: string): number {
  const timeMs = readDay(text);
  if (timeMs === null) throw invalidDay(param, "must be a date of the calendar");
  if (text < FIRST || text > LAST) throw invalidDay(param, `must lie in ${FIRST} to ${LAST}`);
  return timeMs;
}

/** agents.errors.invalid_request */
function invalidDay(param: string, fault: string): ApiError {
  return apiError("invalid_request", { param, message: `\`${param}\` ${fault}.` });
}

function writeReport(by: RunUsageGrouping, range: DayRange, sums: readonly RunUsage[]) {
  const rows = sums.map(({ name, ...sum }) =>
    by === "day"
      ? show(ROWS.day, { date: name, ...sum })
      : show(ROWS.agent, { agent_id: name, ...sum }),
  );
  return { ...range, group_by: by, rows, totals: show(Totals, sums.reduce(add, NOTHING)) };
}

type Sums = Omit<RunUsage, "name">;
type Counts = Omit<Sums, "cost_sar">;
const COUNTS = Object.keys(SUMS).filter((name) => name !== "cost_sar") as (keyof Counts)[];
/** agents.does.cost.1: without a priced run the cost is unknown, not zero. */
const NOTHING = {
  ...Object.fromEntries(COUNTS.map((name) => [name, 0])),
  cost_sar: null,
} as Sums;

function add(total: Sums, sum: Sums): Sums {
  const added = { ...total };
  for (const name of COUNTS) added[name] += sum[name];
  if (sum.cost_sar !== null) added.cost_sar = (total.cost_sar ?? 0) + sum.cost_sar;
  return added;
}
