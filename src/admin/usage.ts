// Usage for the operator: sums by one or two of day, hour, account, key, model, route and agent.
import { type Static, Type } from "@sinclair/typebox";
import type { Access } from "../access/index.ts";
import { createAgentQueries } from "../agents/index.ts";
import {
  addSum,
  type GroupSum,
  type Usage,
  type UsageFilter,
  type UsageGrouping,
  UsageReader,
} from "../gateway/index.ts";
import { nextDay, readDay, writeDay } from "../platform/calendar.ts";
import { formatMoney } from "../platform/money.ts";
import { isZone, writeDayIn } from "../platform/zone.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
const UTC = "UTC";

/** A request as it was typed; days such as `2026-11-20` are both included. */
export interface UsageRequest {
  /** One grouping, or two parted by a comma. */
  by: string;
  /** Default thirty days including the last one. */
  from?: string;
  to?: string;
  /** A month such as `2026-11`, in place of both. */
  month?: string;
  zone?: string;
  /** Name of an account, ids of a key and of an agent, and a model: the sums are of these only. */
  account?: string;
  key?: string;
  model?: string;
  agent?: string;
}

/** Hours of more days would be more rows than a page can show. */
const HOURLY_DAYS_MAX = 7;

/** Groupings and the fields that name a row of each. */
export const USAGE_FIELDS: Readonly<Record<UsageGrouping, readonly string[]>> = {
  day: ["date"],
  hour: ["hour"],
  account: ["account_id", "account"],
  key: ["key_id", "key", "account"],
  model: ["model"],
  route: ["route"],
  agent: ["agent_id", "agent"],
  version: ["version"],
};

export const USAGE_SUMS = [
  ...["requests", "failed", "left", "prompt_tokens", "completion_tokens"],
  ...["estimated", "estimated_prompt_tokens", "estimated_completion_tokens"],
  ...["cost", "estimated_cost", "unpriced", "unpriced_estimated"],
];

export const UsageRow = Type.Record(Type.String(), Type.Unknown(), {
  description: "Names of the group, and its sums; `cost` is null where none is known.",
});
type UsageRow = Static<typeof UsageRow>;

export const UsageReport = Type.Object({
  from: Type.String({ description: "First day." }),
  to: Type.String({ description: "Last day." }),
  zone: Type.String({ description: "Time zone of the days." }),
  currency: Type.String({ description: "Currency of the costs." }),
  group_by: Type.String({ description: "What the rows are, such as `day` or `account,model`." }),
  rows: Type.Array(UsageRow, { description: "Groups without requests are absent." }),
  totals: UsageRow,
});
export type UsageReport = Static<typeof UsageReport>;

/** Requests of a running server appear a moment later. */
export function createUsageReport(deps: AdminDeps, directory: AccountDirectory) {
  const { database, clock, settings } = deps;
  const reader = new UsageReader(database);
  return async (request: UsageRequest): Promise<UsageReport> => {
    const { by, from, to, zone } = readUsageRequest(request, clock.now());
    const filter = await readFilter(request, directory);
    const sums = await reader.sum({ by, from, to, zone, filter });
    const label = await createLabels(by, deps, directory);
    const rows = await Promise.all(
      sums.map(async (sum) => ({ ...(await label(sum)), ...showSums(sum) })),
    );
    const totals = { ...NOTHING };
    for (const sum of sums) addSum(totals, sum);
    return {
      ...{ from, to, zone, currency: settings.service.currency, group_by: by.join(",") },
      ...{ rows, totals: showSums(totals) },
    };
  };
}

export function readUsageRequest(request: UsageRequest, now: number) {
  const by = readGroupings(request.by);
  const zone = request.zone ?? UTC;
  if (!isZone(zone)) {
    throw new AdminError(`"${zone}" is no time zone, such as Asia/Riyadh or UTC`);
  }
  const { from, to } = readRange(request, writeDayIn(now, zone));
  if (by.includes("hour") && readDay(to)! - readDay(from)! >= HOURLY_DAYS_MAX * DAY_MS) {
    throw new AdminError(`hours are summed for ${HOURLY_DAYS_MAX} days at most: give --from`);
  }
  return { by, from, to, zone };
}

/** Keys and agents may be deleted ones, whose sums stay. */
export async function readFilter(
  { account, key: key_id, model, agent: agent_id }: UsageRequest,
  directory: AccountDirectory,
): Promise<UsageFilter> {
  const account_id = account === undefined ? undefined : (await directory.require(account)).id;
  return { account_id, key_id, model, agent_id };
}

function readGroupings(typed: string): UsageGrouping[] {
  const by = typed.split(",").map((one) => one.trim()) as UsageGrouping[];
  const unknown = by.find((one) => !Object.hasOwn(USAGE_FIELDS, one));
  if (unknown !== undefined || by.length > 2 || new Set(by).size < by.length) {
    const names = Object.keys(USAGE_FIELDS).join(", ");
    throw new AdminError(`usage is summed by one or two of ${names}, but not by "${typed}"`);
  }
  if (by.includes("hour") && by.includes("day")) {
    throw new AdminError("an hour has its day: sum by hour alone");
  }
  if (by.includes("version") && !by.includes("agent")) {
    throw new AdminError("versions are numbered for each agent: sum by agent,version");
  }
  return by;
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

function readRange({ from, to, month }: UsageRequest, today: string) {
  if (month !== undefined) {
    if (from !== undefined || to !== undefined) {
      throw new AdminError("a month takes no further days");
    }
    if (!MONTH.test(month)) throw new AdminError(`"${month}" is no month, such as 2026-11`);
    const first = `${month}-01`;
    let last = first;
    while (nextDay(last).startsWith(month)) last = nextDay(last);
    return { from: first, to: last };
  }
  const last = requireDay(to ?? today);
  const first = requireDay(from ?? writeDay(readDay(last)! - (DAYS - 1) * DAY_MS));
  if (first <= last) return { from: first, to: last };
  throw new AdminError(`${first} lies behind ${last}: the first day comes first`);
}

function requireDay(typed: string): string {
  if (readDay(typed) !== null) return typed;
  throw new AdminError(`"${typed}" is no date, such as 2027-01-05`);
}

/** Names of a row's groups. */
type UsageGroups = Omit<Usage, keyof UsageSums>;
type Label = (sum: UsageGroups) => Promise<UsageRow>;

/** Groups of what no group was asked for. */
export const NO_GROUP: UsageGroups = {
  ...{ day: "", hour: "", account_id: "", key_id: "", model: "", route: "" },
  ...{ agent_id: "", agent_version: 0 },
};

export async function createLabels(
  by: readonly UsageGrouping[],
  { access, database }: AdminDeps,
  directory: AccountDirectory,
): Promise<Label> {
  const accounts = await directory.names();
  const nameAgent = createAgentNames(database);
  const keys = by.includes("key") ? await indexKeys(access) : new Map<string, never>();
  const labels: Record<UsageGrouping, Label> = {
    day: async ({ day }) => ({ date: day }),
    hour: async ({ hour }) => ({ hour }),
    account: async ({ account_id: id }) => {
      return { account_id: id || null, account: accounts.get(id) ?? null };
    },
    async key({ key_id }) {
      const { name = null, account_id = null } = keys.get(key_id) ?? {};
      return { key_id, key: name, account: accounts.get(account_id ?? "") ?? null };
    },
    model: async ({ model }) => ({ model: model || null }),
    route: async ({ route }) => ({ route }),
    agent: async ({ agent_id: id }) => ({ agent_id: id || null, agent: await nameAgent(id) }),
    version: async ({ agent_version }) => ({ version: agent_version || null }),
  };
  return async (sum) =>
    Object.assign({}, ...(await Promise.all(by.map((one) => labels[one](sum)))));
}

/** Returns what names an agent; null for an unknown one. */
function createAgentNames(database: AdminDeps["database"]) {
  const agents = createAgentQueries(database);
  const find = async (id: string): Promise<string | null> => {
    const owner = id === "" ? undefined : await agents.findOwner(id);
    return owner === undefined ? null : ((await agents.findName(id, owner)) ?? null);
  };
  const known = new Map<string, Promise<string | null>>();
  return (id: string): Promise<string | null> => {
    const name = known.get(id) ?? find(id);
    known.set(id, name);
    return name;
  };
}

async function indexKeys({ keys }: Pick<Access, "keys">) {
  return new Map((await keys.list(null)).map((key) => [key.id, key]));
}

type UsageSums = Omit<
  GroupSum,
  "account_id" | "key_id" | "model" | "route" | "agent_id" | "agent_version"
>;
const NOTHING: UsageSums = {
  requests: 0,
  failed: 0,
  callers_left: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  estimated: 0,
  estimated_prompt_tokens: 0,
  estimated_completion_tokens: 0,
  cost: null,
  estimated_cost: 0,
  unpriced: 0,
  unpriced_estimated: 0,
};

/** Writes the sums; the costs are those of the requests with a known one. */
function showSums({ callers_left, cost, ...sums }: UsageSums): UsageRow {
  const named: UsageRow = {
    ...sums,
    left: callers_left,
    cost: cost === null ? null : formatMoney(cost),
    estimated_cost: cost === null ? null : formatMoney(sums.estimated_cost),
  };
  return Object.fromEntries(USAGE_SUMS.map((name) => [name, named[name]]));
}
