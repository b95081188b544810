// Runs that were started, counted by one or two of day, hour, account, key, model and agent.
import { type Static, Type } from "@sinclair/typebox";
import { createRunQueries } from "../agents/index.ts";
import type { UsageGrouping } from "../gateway/index.ts";
import { listDays, nextDay, readDay } from "../platform/calendar.ts";
import { yieldToEventLoop } from "../platform/clock.ts";
import { firstIdAt } from "../platform/ids.ts";
import { startOfDay } from "../platform/zone.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";
import {
  createLabels,
  NO_GROUP,
  readFilter,
  readUsageRequest,
  type UsageRequest,
  UsageRow,
} from "./usage.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS_MAX = 366;

export const RunUsageReport = Type.Object({
  from: Type.String({ description: "First day." }),
  to: Type.String({ description: "Last day." }),
  zone: Type.String({ description: "Time zone of the days." }),
  group_by: Type.String({ description: "What the rows are, such as `day` or `account,model`." }),
  rows: Type.Array(UsageRow, { description: "Groups without runs are absent." }),
  totals: UsageRow,
});
export type RunUsageReport = Static<typeof RunUsageReport>;

type Groups = Record<"account_id" | "key_id" | "model" | "agent_id", string>;
type RunSum = Groups & { day: string; hour: string; runs: number; failed: number };

/** Deleted runs are not counted, so that old days have none. */
export function createRunUsageReport(deps: AdminDeps, directory: AccountDirectory) {
  const runs = createRunQueries(deps);
  return async (request: UsageRequest): Promise<RunUsageReport> => {
    const { by, from, to, zone } = readUsageRequest(request, deps.clock.now());
    if (by.includes("route") || by.includes("version")) {
      throw new AdminError("runs are counted by day, hour, account, key, model or agent");
    }
    if (readDay(to)! - readDay(from)! >= DAYS_MAX * DAY_MS) {
      throw new AdminError(`runs are counted for ${DAYS_MAX} days at most: give --from`);
    }
    const filter = await readFilter(request, directory);
    const sums = new Map<string, RunSum>();
    for (const day of listDays(from, to)) {
      for (const [start, end] of splitDay(day, zone, by.includes("hour"))) {
        const range = { from: firstIdAt(start), before: firstIdAt(end) };
        const time = {
          day: by.includes("day") ? day : "",
          hour: by.includes("hour") ? new Date(start).toISOString() : "",
        };
        for (const { runs: count, failed, ...groups } of await runs.countStarted({
          ...range,
          ...filter,
        })) {
          addRuns(sums, { ...keepGroups(groups, by), ...time, runs: count, failed });
        }
      }
      await yieldToEventLoop();
    }
    const label = await createLabels(by, deps, directory);
    const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
    const count = (name: "runs" | "failed") => rows.reduce((sum, row) => sum + row[name], 0);
    return {
      ...{ from, to, zone, group_by: by.join(",") },
      rows: await Promise.all(
        rows.map(async (row) => ({
          ...(await label({ ...NO_GROUP, ...row })),
          ...{ runs: row.runs, failed: row.failed },
        })),
      ),
      totals: { runs: count("runs"), failed: count("failed") },
    };
  };
}

function* splitDay(day: string, zone: string, byHour: boolean): Generator<[number, number]> {
  const [start, end] = [startOfDay(day, zone), startOfDay(nextDay(day), zone)];
  if (!byHour) yield [start, end];
  else for (let at = start; at < end; at += HOUR_MS) yield [at, Math.min(at + HOUR_MS, end)];
}

function keepGroups(groups: Groups, by: readonly UsageGrouping[]): Groups {
  return {
    account_id: by.includes("account") ? groups.account_id : "",
    key_id: by.includes("key") ? groups.key_id : "",
    model: by.includes("model") ? groups.model : "",
    agent_id: by.includes("agent") ? groups.agent_id : "",
  };
}

function addRuns(sums: Map<string, RunSum>, sum: RunSum): void {
  const { day, hour, account_id, key_id, model, agent_id } = sum;
  const name = [day, hour, account_id, key_id, model, agent_id].join("\n");
  const found = sums.get(name);
  if (!found) sums.set(name, sum);
  else {
    found.runs += sum.runs;
    found.failed += sum.failed;
  }
}
