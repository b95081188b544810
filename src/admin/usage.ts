// Usage for the operator: sums by day, account, key, model or route.
import { type Static, Type } from "@sinclair/typebox";
import type { Access } from "../access/index.ts";
import type { GatewayUsage, UsageGrouping } from "../gateway/index.ts";
import { writeDay } from "../platform/calendar.ts";
import { formatMoney } from "../platform/money.ts";
import { oneOf } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

export type { UsageGrouping as UsageBy } from "../gateway/index.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;

/** Dates such as `2026-11-20` in UTC, both included. */
export interface UsageRequest {
  by: UsageGrouping;
  /** Default thirty days including the last one. */
  from?: string;
  to?: string;
}

export const USAGE_GROUPINGS: readonly UsageGrouping[] = [
  ...(["day", "account", "key", "model", "route"] as const),
];

const UsageRow = Type.Record(Type.String(), Type.Unknown(), {
  description: "Names of the group, and its sums; `cost` in SAR, null where none is known.",
});
type UsageRow = Static<typeof UsageRow>;

export const UsageReport = Type.Object({
  from: Type.String({ description: "First day in UTC." }),
  to: Type.String({ description: "Last day." }),
  group_by: oneOf(USAGE_GROUPINGS, "What the rows are."),
  rows: Type.Array(UsageRow, { description: "Groups without requests are absent." }),
  totals: UsageRow,
});
export type UsageReport = Static<typeof UsageReport>;

/** Requests of a running server appear a moment later. */
export function createUsageReport(
  { access, database, clock }: AdminDeps,
  directory: AccountDirectory,
) {
  return async (request: UsageRequest): Promise<UsageReport> => {
    const to = request.to ?? writeDay(clock.now());
    const from = request.from ?? writeDay(Date.parse(to) - (DAYS - 1) * DAY_MS);
    if (from > to) throw new AdminError(`${from} lies behind ${to}: the first day comes first`);
    // The gateway is loaded only when it is needed.
    const { createUsageReader } = await import("../gateway/index.ts");
    const sums = await createUsageReader(database).sum(request.by, from, to);
    const label = await createLabels(request.by, access, directory);
    return {
      from,
      to,
      group_by: request.by,
      rows: sums.map((sum) => ({ ...label(sum.name), ...showSums(sum) })),
      totals: showSums(sums.reduce(add, NOTHING)),
    };
  };
}

async function createLabels(
  by: UsageGrouping,
  access: Pick<Access, "keys">,
  directory: AccountDirectory,
): Promise<(name: string) => UsageRow> {
  if (by === "day") return (date) => ({ date });
  if (by === "model") return (model) => ({ model: model || null });
  if (by === "route") return (route) => ({ route });
  const accounts = await directory.names();
  if (by === "account") {
    return (id) => ({ account_id: id || null, account: accounts.get(id) ?? null });
  }
  const keys = new Map((await access.keys.list(null)).map((key) => [key.id, key]));
  return (key_id) => {
    const { name = null, account_id = null } = keys.get(key_id) ?? {};
    return { key_id, key: name, account: accounts.get(account_id ?? "") ?? null };
  };
}

type UsageSums = Omit<GatewayUsage, "name">;
const NOTHING: UsageSums = {
  requests: 0,
  failed: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cost: null,
  unpriced: 0,
};

/** Writes the cost in SAR, of the requests with a known one. */
function showSums({ cost, unpriced, ...sums }: UsageSums & { name?: string }): UsageRow {
  const { requests, failed, prompt_tokens, completion_tokens } = sums;
  const money = cost === null ? null : formatMoney(cost);
  return { requests, failed, prompt_tokens, completion_tokens, cost: money, unpriced };
}

function add(total: UsageSums, sum: UsageSums): UsageSums {
  return {
    requests: total.requests + sum.requests,
    failed: total.failed + sum.failed,
    prompt_tokens: total.prompt_tokens + sum.prompt_tokens,
    completion_tokens: total.completion_tokens + sum.completion_tokens,
    cost: sum.cost === null ? total.cost : (total.cost ?? 0) + sum.cost,
    unpriced: total.unpriced + sum.unpriced,
  };
}
