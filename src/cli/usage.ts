// `wadi usage`: what was used, by days, accounts, keys, models or routes.
import type { UsageBy } from "../operator/index.ts";
import { administer } from "./administration.ts";
import { drawTable, type Output } from "./output.ts";
import { type Given, readText, UsageProblem } from "./verb.ts";

/** What stands in front of the sums, in the order of the columns. */
const HEADS: Record<UsageBy, readonly string[]> = {
  day: ["date"],
  account: ["account"],
  key: ["key_id", "key", "account"],
  model: ["model"],
  route: ["route"],
};
const SUMS = ["requests", "failed", "prompt_tokens", "completion_tokens", "cost", "unpriced"];
const DATE = /^\d{4}-\d\d-\d\d$/;

export async function showUsage(given: Given, output: Output): Promise<number> {
  const by = readGrouping(given);
  const wish = { by, from: readDate(given, "from"), to: readDate(given, "to") };
  const report = await administer(given, ({ usage }) => usage(wish));
  const heads = HEADS[by];
  const total = { ...report.totals, [heads[0]!]: "total" };
  output.say(`from ${report.from} to ${report.to} (UTC); cost in SAR`);
  output.print(report, drawTable([...report.rows, total], [...heads, ...SUMS]));
  return 0;
}

function readGrouping(given: Given): UsageBy {
  const text = readText(given, "by") ?? "day";
  if (Object.hasOwn(HEADS, text)) return text as UsageBy;
  throw new UsageProblem(`--by takes day, account, key, model or route, but is "${text}"`);
}

/** undefined: the flag is not there. */
function readDate(given: Given, name: string): string | undefined {
  const text = readText(given, name);
  if (text === undefined) return undefined;
  const time_ms = DATE.test(text) ? Date.parse(text) : Number.NaN;
  // 30 February would be read as 2 March.
  if (!Number.isNaN(time_ms) && new Date(time_ms).toISOString().startsWith(text)) return text;
  throw new UsageProblem(`--${name} takes a date such as 2027-01-05, but is "${text}"`);
}
