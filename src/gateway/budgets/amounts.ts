// Amounts that accounts and keys use and reserve in the periods of their limits.
import { type Static, Type } from "@sinclair/typebox";
import type { Period } from "../../access/index.ts";
import type { PeriodRange } from "./period.ts";

/** Amounts that a request may use, or has used; cost in micro-SAR. */
export const Amounts = Type.Object({
  requests: Type.Integer(),
  tokens: Type.Integer(),
  cost: Type.Integer(),
});
export type Amounts = Static<typeof Amounts>;

/** Amounts used by an account or key; `estimated` counts requests with an estimate. */
export const UsedAmounts = Type.Object({ ...Amounts.properties, estimated: Type.Integer() });
export type UsedAmounts = Static<typeof UsedAmounts>;

export const UNUSED: Readonly<UsedAmounts> = { requests: 0, estimated: 0, tokens: 0, cost: 0 };

export const RangeUse = Type.Object({
  start: Type.Integer(),
  end: Type.Integer(),
  used: UsedAmounts,
  /** Maximum use of the requests under way. */
  reserved: Amounts,
});
export type RangeUse = Static<typeof RangeUse>;

export interface PeriodUse extends RangeUse {
  /** Alerts that were written, by limit, amount and percentage. */
  announced: Set<string>;
}

export type SubjectUse = Readonly<Record<Period, PeriodUse>>;

/** Finds the use of a range, also where another process has another calendar. */
export function findUse(uses: readonly RangeUse[], range: PeriodRange): RangeUse | undefined {
  return uses.find(({ start, end }) => start === range.start && end === range.end);
}

export function addAmounts(sum: Amounts, { requests, tokens, cost }: Amounts, sign = 1): void {
  sum.requests += sign * requests;
  sum.tokens += sign * tokens;
  sum.cost += sign * cost;
}

export function addUsed(sum: UsedAmounts, amounts: UsedAmounts): void {
  addAmounts(sum, amounts);
  sum.estimated += amounts.estimated;
}
