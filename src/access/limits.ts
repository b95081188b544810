// Limits of an account or a key: what it may use in a minute, a day or a month.
import { Type } from "@sinclair/typebox";

export const MEASURES = ["requests", "tokens", "cost"] as const;
export type Measure = (typeof MEASURES)[number];

export const PERIODS = ["minute", "day", "month"] as const;
export type Period = (typeof PERIODS)[number];

export type LimitName = `${Measure}_${Period}`;

/** Maximum amount of a limit, so that sums of amounts stay exact. */
export const LIMIT_AMOUNT_MAX = 1e15;

/** Maximum amounts by name, cost in micro-SAR; without a name, no limit. */
export type Limits = Readonly<Partial<Record<LimitName, number>>>;

/** Amounts to set; null removes the limit of that name. */
export type LimitChange = Readonly<Partial<Record<LimitName, number | null>>>;

/** JSON of the column. */
export const StoredLimits = Type.Unsafe<Limits>(Type.Object({}));

/** Limits that bind a caller, read with its key. */
export interface CallerLimits {
  account: Limits | null;
  key: Limits | null;
}

export const LIMIT_NAMES: readonly LimitName[] = MEASURES.flatMap((measure) =>
  PERIODS.map((period): LimitName => `${measure}_${period}`),
);

export function splitLimitName(name: LimitName): [Measure, Period] {
  return name.split("_") as [Measure, Period];
}

/** Applies a change; null where no limit is left. */
export function changeLimits(limits: Limits | null, change: LimitChange): Limits | null {
  const merged = { ...limits, ...change };
  const left = LIMIT_NAMES.flatMap((name) => {
    const amount = merged[name];
    return amount === undefined || amount === null ? [] : [[name, amount] as const];
  });
  return left.length === 0 ? null : Object.fromEntries(left);
}
