// Which limits a request would exceed, and the error that its caller gets.
import {
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  type Measure,
  type Period,
  splitLimitName,
} from "../../access/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { formatMoney } from "../../platform/money.ts";
import type { Amounts, PeriodUse, RangeUse, SubjectUse } from "./amounts.ts";

export type SubjectKind = "account" | "key";

export interface LimitedSubject {
  kind: SubjectKind;
  id: string;
  /** Name of its rows. */
  name: string;
  limits: Limits;
}

export function makeSubject(kind: SubjectKind, id: string, limits: Limits): LimitedSubject {
  return { kind, id, name: `${kind} ${id}`, limits };
}

/** A limit below what is used, reserved and needed. */
export interface Excess {
  subject: LimitedSubject;
  name: LimitName;
  maximum: number;
  use: PeriodUse;
  /**
   * `never`: the request alone exceeds it · `used`: until the period ends · `reserved`: until
   * requests under way end.
   */
  lasts: "never" | "used" | "reserved";
}

/** Wait for requests under way, whose ends are unknown. */
const RESERVED_RETRY_MS = 1_000;

/** gateway.errors.p9 */
const FINAL = { "x-should-retry": "false" } as const;

export function* listLimits({ limits }: Pick<LimitedSubject, "limits">) {
  for (const name of LIMIT_NAMES) {
    const maximum = limits[name];
    if (maximum === undefined) continue;
    const [measure, period] = splitLimitName(name);
    yield { name, maximum, measure, period };
  }
}

/** Reports if this much is within all limits by the use that `find` knows. */
export function fitsLimits(
  { limits }: Pick<LimitedSubject, "limits">,
  find: (period: Period) => Pick<RangeUse, "used" | "reserved">,
  needed: Amounts,
): boolean {
  return [...listLimits({ limits })].every(({ maximum, measure, period }) => {
    const { used, reserved } = find(period);
    return used[measure] + reserved[measure] + needed[measure] <= maximum;
  });
}

/** Refuses only where used, reserved and needed are together above a limit. */
export function findExcesses(subject: LimitedSubject, uses: SubjectUse, needed: Amounts): Excess[] {
  const found: Excess[] = [];
  for (const { name, maximum, measure, period } of listLimits(subject)) {
    const use = uses[period];
    const need = needed[measure];
    const free = maximum - use.used[measure];
    if (need + use.reserved[measure] <= free) continue;
    const lasts = need > maximum ? "never" : need > free ? "used" : "reserved";
    found.push({ subject, name, maximum, use, lasts });
  }
  return found;
}

/** gateway.errors.rate_limit_exceeded, gateway.errors.permission_denied: the latter for money. */
export function explainExcesses(
  excesses: readonly Excess[],
  now: number,
  currency: string,
): ApiError {
  const money = excesses.find(({ name, lasts }) => isMoney(name) && lasts !== "reserved");
  if (money) {
    const message = explainMoney(money, currency);
    return apiError("permission_denied", { message, headers: { ...FINAL } });
  }
  // Only the end of the last period lets the request in.
  const waitMs = (excess: Excess) =>
    excess.lasts === "reserved" ? RESERVED_RETRY_MS : excess.use.end - now;
  const rank = (excess: Excess) => (excess.lasts === "never" ? Infinity : waitMs(excess));
  const worst = excesses.reduce((one, other) => (rank(other) > rank(one) ? other : one));
  // gateway.errors.headers.retry_after
  const seconds = Math.ceil(waitMs(worst) / 1000);
  const headers = { "retry-after": String(seconds), ...(worst.lasts === "never" && FINAL) };
  return apiError("rate_limit_exceeded", { message: explainLimit(worst, currency), headers });
}

/** A budget of money cannot hold a model whose price is unknown. */
export function explainUnpriced(): ApiError {
  const message = "The model has no price, which this key needs because its money is limited.";
  return apiError("permission_denied", { param: "model", message, headers: { ...FINAL } });
}

function isMoney(name: LimitName): boolean {
  return splitLimitName(name)[0] === "cost";
}

function explainMoney({ subject, name, maximum, lasts }: Excess, currency: string): string {
  const [, period] = splitLimitName(name);
  const limit = `${formatMoney(maximum)} ${currency} ${PER[period]}`;
  return lasts === "never"
    ? `The request alone exceeds the money of this ${subject.kind}: it may spend ${limit}.`
    : `The money of this ${subject.kind} is used up: it may spend ${limit}.`;
}

function explainLimit({ subject, name, maximum, lasts }: Excess, currency: string): string {
  const [measure, period] = splitLimitName(name);
  const amount = measure === "cost" ? `${formatMoney(maximum)} ${currency}` : `${maximum}`;
  const limit = `the limit of this ${subject.kind} is ${amount} ${PER[period]}`;
  if (lasts === "never") return `The request alone exceeds a limit: ${limit}.`;
  return `Too many ${NOUNS[measure]}: ${limit}; wait as long as Retry-After says.`;
}

const PER: Record<Period, string> = { minute: "a minute", day: "a day", month: "a month" };
const NOUNS: Record<Measure, string> = {
  requests: "requests",
  tokens: "tokens",
  cost: "requests under way",
};
