// A limit with its use, as callers, operators and receivers of events see it.
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { formatMoney } from "../platform/money.ts";
import { oneOf, Resource } from "../platform/schema.ts";
import { type LimitName, MEASURES, type Measure, PERIODS, splitLimitName } from "./limits.ts";

const amount = (description: string) =>
  Type.Union([Type.Integer(), Type.String()], {
    description: `${description} Of \`cost\`, SAR as decimal text.`,
  });
const instant = (description: string) => Type.String({ format: "date-time", description });

const COMMON = {
  name: Type.Unsafe<LimitName>(
    Type.String({ description: "Measure and period, such as `tokens_day`." }),
  ),
  measure: oneOf(MEASURES, "What is counted."),
  period: oneOf(PERIODS, "A minute, or a day or month of the service's time zone."),
  maximum: amount("Maximum amount in one period."),
  starts_at: instant("Begin of the current period."),
  resets_at: instant("End of the period, when the use is zero again."),
};
const used = amount("Amount used in this period.");

export const LimitUse = Resource(
  "LimitUse",
  {
    ...COMMON,
    used,
    reserved: amount("Maximum amount of the requests under way."),
    estimated_requests: Type.Integer({
      description: "Requests of this period whose use is an estimate because it stayed unknown.",
    }),
  },
  "A limit and its use in the current period.",
);
export type LimitUse = Static<typeof LimitUse>;

/** Data of the event `limit.reached`. */
export const REACHED_LIMIT: TProperties = {
  limit: Type.Object(
    {
      kind: oneOf(["account", "key"], "Whose limit it is."),
      id: Type.String({ format: "uuid", description: "Id of the account or key." }),
      ...COMMON,
    },
    { description: "The limit and its period." },
  ),
  percent: Type.Integer({ description: "Share of the limit that is used: 80 or 100." }),
  used,
};

export function showLimit(
  name: LimitName,
  maximum: number,
  { start, end }: { start: number; end: number },
) {
  const [measure, period] = splitLimitName(name);
  return {
    name,
    measure,
    period,
    maximum: showAmount(measure, maximum),
    starts_at: new Date(start).toISOString(),
    resets_at: new Date(end).toISOString(),
  };
}

export function showAmount(measure: Measure, amount: number): number | string {
  return measure === "cost" ? formatMoney(amount) : amount;
}
