// What was used, as the operator sums it: by days, accounts, keys, models or routes.

import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import type { Access } from "../access/index.ts";
import type { Database } from "../database/index.ts";
import type { GatewayUsage, UsageGrouping } from "../gateway/index.ts";
import { writeDay } from "../platform/calendar.ts";
import type { Clock } from "../platform/clock.ts";
import { Money, maybe, Resource, show } from "../platform/schema.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError } from "./errors.ts";

export type { UsageGrouping as UsageBy } from "../gateway/index.ts";

const DAY_MS = 86_400_000;
/** Where nobody says from when. */
const DAYS = 30;

const SUMS = {
  requests: Type.Integer({ description: "Of known keys, within their rate limit." }),
  failed: Type.Integer({ description: "Those that ended with an error, or whose caller left." }),
  prompt_tokens: Type.Integer({ description: "Of the messages, estimates among them." }),
  completion_tokens: Type.Integer({ description: "Of the replies, estimates among them." }),
  cost: maybe(Money("SAR, of those requests whose cost is known; null: of none it is.")),
  unpriced: Type.Integer({
    description: "Requests that used tokens without a price, or by an estimate.",
  }),
};
const account = maybe(Type.String({ description: "The owner's name; null: it has none." }));

const UsageTotals = Resource("UsageTotals", SUMS);
/** What a row is a sum of, and then the sums. */
const ROWS: Record<UsageGrouping, TObject> = {
  day: row({ date: Type.String({ description: "A day in UTC." }) }),
  account: row({
    account_id: maybe(Type.String({ description: "Its id; null: keys without an owner." })),
    account,
  }),
  key: row({
    key_id: Type.String({ description: "Its id." }),
    key: maybe(Type.String({ description: "Its name; null: it has none." })),
    account,
  }),
  model: row({
    model: maybe(
      Type.String({ description: "Its id; null: none is asked, or it was refused before." }),
    ),
  }),
  route: row({ route: Type.String({ description: "chat, embeddings or search." }) }),
};

/** What is asked for; dates as `2026-11-20`, in UTC and both included. */
export interface UsageRequest {
  by: UsageGrouping;
  /** Left out: thirty days with the last one. */
  from?: string;
  /** Left out: today. */
  to?: string;
}

type UsageRow = Record<string, unknown>;

/** As it is printed: one document. */
export interface UsageReport {
  from: string;
  to: string;
  group_by: UsageGrouping;
  /** Days and others without requests are left out. */
  rows: UsageRow[];
  totals: UsageRow;
}

export interface UsageVerbOptions {
  access: Access;
  database: Database;
  clock: Clock;
}

/** Works beside a server and alone; of a server's last moment nothing is written yet. */
export function createUsageReport({ access, database, clock }: UsageVerbOptions) {
  return async (request: UsageRequest): Promise<UsageReport> => {
    const to = request.to ?? writeDay(clock.now());
    const from = request.from ?? writeDay(Date.parse(to) - (DAYS - 1) * DAY_MS);
    if (from > to) throw new AdminError(`${from} lies behind ${to}: the first day comes first`);
    // The gateway brings a whole server along, which no other verb needs.
    const { createUsageReader: readUsage } = await import("../gateway/index.ts");
    const sums = await readUsage(database).sum(request.by, from, to);
    const name = await createNaming(access, request.by);
    return {
      from,
      to,
      group_by: request.by,
      rows: sums.map((sum) => show(ROWS[request.by], { ...sum, ...name(sum.name) })),
      totals: show(UsageTotals, sums.reduce(add, NOTHING)),
    };
  };
}

function row(head: TProperties): TObject {
  return Resource("UsageRow", { ...head, ...SUMS });
}

/** From the name of a sum to the fields in front of it. */
async function createNaming(
  access: Access,
  by: UsageGrouping,
): Promise<(name: string) => UsageRow> {
  if (by === "day") return (date) => ({ date });
  if (by === "model") return (model) => ({ model: model || null });
  if (by === "route") return (route) => ({ route });
  const accounts = await nameAccounts(access);
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
  ...{ requests: 0, failed: 0, prompt_tokens: 0, completion_tokens: 0 },
  ...{ cost: null, unpriced: 0 },
};

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
