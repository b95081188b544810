// Fields and replies of operations on the limits of accounts and keys.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import {
  LIMIT_AMOUNT_MAX,
  LIMIT_NAMES,
  type LimitChange,
  type LimitName,
  type Limits,
  LimitUse,
  showAmount,
  splitLimitName,
} from "../../access/index.ts";
import { named } from "../../http/index.ts";
import { parseMoney } from "../../platform/money.ts";

const AMOUNT = "^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$";

const orNone = <S extends TSchema>(amount: S, description: string) =>
  Type.Optional(
    Type.Union([amount, Type.Null()], {
      description: `${description}; null removes the limit, and without it nothing changes.`,
    }),
  );
const count = Type.Integer({ minimum: 0, maximum: LIMIT_AMOUNT_MAX });
const money = named(Type.String({ pattern: AMOUNT }), "an amount below 1000000000.00");

export const LIMIT_FIELDS = {
  requests_minute: orNone(count, "Maximum requests in a minute"),
  requests_day: orNone(count, "Maximum requests in a day"),
  requests_month: orNone(count, "Maximum requests in a month"),
  tokens_minute: orNone(count, "Maximum tokens in a minute"),
  tokens_day: orNone(count, "Maximum tokens in a day"),
  tokens_month: orNone(count, "Maximum tokens in a month"),
  cost_minute: orNone(money, "Maximum SAR in a minute, as decimal text"),
  cost_day: orNone(money, "Maximum SAR in a day, as decimal text"),
  cost_month: orNone(money, "Maximum SAR in a month, as decimal text"),
} satisfies Record<LimitName, TSchema>;

const Fields = Type.Object(LIMIT_FIELDS);
export type LimitFields = Static<typeof Fields>;

export const LimitList = Type.Object({
  limits: Type.Array(LimitUse, { description: "Limits with their use; empty: none." }),
});

export function readLimits(fields: LimitFields): LimitChange {
  const change: Partial<Record<LimitName, number | null>> = {};
  for (const name of LIMIT_NAMES) {
    const amount = fields[name];
    if (amount === undefined) continue;
    const read = typeof amount === "string" ? parseMoney(amount) : amount;
    change[name] = read;
  }
  return change;
}

/** Amounts as they are sent; nothing for an unknown account or key. */
export function showLimits(limits: Limits | null | undefined) {
  if (limits === undefined) return undefined;
  const shown = Object.entries(limits ?? {}).map(([name, amount]) => {
    const [measure] = splitLimitName(name as LimitName);
    return [name, showAmount(measure, amount)];
  });
  return Object.fromEntries(shown);
}
