// `wadi usage`: sums of requests, tokens and cost, and counts of runs.
import { runCountOperations, USAGE_FIELDS, USAGE_SUMS, upkeepOperations } from "../admin/index.ts";
import { readDay } from "../platform/calendar.ts";
import { writeCsv } from "../platform/csv.ts";
import {
  type Command,
  type CommandInput,
  type Flag,
  hasFlag,
  readText,
  UsageError,
} from "./command.ts";
import { call } from "./operations.ts";
import { layOutTable, type Output, type OutputRow } from "./output.ts";

/** Columns of the table; CSV and JSON have all of them. */
const SUMS = [
  ...["requests", "failed", "left", "prompt_tokens", "completion_tokens", "estimated"],
  ...["cost", "unpriced"],
];
const HIDDEN = ["account_id"];

function readGroupings(input: CommandInput): string {
  const text = readText(input, "by") ?? "day";
  if (text.split(",").every((one) => Object.hasOwn(USAGE_FIELDS, one.trim()))) return text;
  const names = Object.keys(USAGE_FIELDS).join(", ");
  throw new UsageError(`--by takes one or two of ${names}, but is "${text}"`);
}

/** Lists the fields that name a row. */
function listFields(by: string): string[] {
  const fields = by.split(",").flatMap((one) => USAGE_FIELDS[one as keyof typeof USAGE_FIELDS]);
  return [...new Set(fields)];
}

async function printUsage(input: CommandInput, output: Output): Promise<number> {
  const isCsv = hasFlag(input, "csv");
  if (isCsv && hasFlag(input, "json"))
    throw new UsageError("usage takes --csv or --json, not both");
  const report = await call(input, upkeepOperations.usage, readRequest(input));
  const { from, to, zone, currency } = report;
  output.say(`from ${from} to ${to} (${zone}); cost in ${currency}`);
  return printReport(output, report, isCsv ? USAGE_SUMS : SUMS, isCsv);
}

async function printRunUsage(input: CommandInput, output: Output): Promise<number> {
  const isCsv = hasFlag(input, "csv");
  if (isCsv && hasFlag(input, "json"))
    throw new UsageError("runs usage takes --csv or --json, not both");
  const report = await call(input, runCountOperations.usage, readRequest(input));
  output.say(`runs started from ${report.from} to ${report.to} (${report.zone})`);
  return printReport(output, report, ["runs", "failed"], isCsv);
}

function readRequest(input: CommandInput) {
  return {
    by: readGroupings(input),
    from: readDate(input, "from"),
    to: readDate(input, "to"),
    month: readText(input, "month"),
    zone: readText(input, "zone"),
    account: readText(input, "account"),
    key: readText(input, "key"),
    model: readText(input, "model"),
    agent: readText(input, "agent"),
  };
}

interface SummedReport {
  group_by: string;
  rows: readonly OutputRow[];
  totals: OutputRow;
}

function printReport(
  output: Output,
  report: SummedReport,
  sums: readonly string[],
  isCsv: boolean,
): number {
  const { group_by, rows, totals } = report;
  const fields = listFields(group_by);
  if (isCsv) {
    const columns = [...fields, ...sums];
    const cells = rows.map((row) => columns.map((column) => row[column]));
    output.print(report, writeCsv([columns, ...cells]));
    return 0;
  }
  const heads = fields.filter((name) => !HIDDEN.includes(name));
  const total = { ...totals, [heads[0]!]: "total" };
  output.print(report, layOutTable(output, [...rows, total], [...heads, ...sums]));
  return 0;
}

function readDate(input: CommandInput, name: string): string | undefined {
  const text = readText(input, name);
  if (text === undefined) return undefined;
  if (readDay(text) !== null) return text;
  throw new UsageError(`--${name} takes a date such as 2027-01-05, but is "${text}"`);
}

const RANGE: Record<string, Flag> = {
  from: { takes: "DATE", help: "first day (default 29 days before the last)" },
  to: { takes: "DATE", help: "last day (default today)" },
  month: { takes: "MONTH", help: "month such as 2027-01, in place of both" },
  zone: { takes: "ZONE", help: "time zone of the days (default UTC)" },
  account: { takes: "NAME", help: "only of this account" },
  key: { takes: "ID", help: "only with this key" },
  model: { takes: "MODEL", help: "only of this model" },
  agent: { takes: "ID", help: "only of this agent's runs" },
  csv: { help: "comma-separated values, with every column" },
};

/** Stands among the commands of runs. */
export const runUsage: Command = {
  name: "runs usage",
  flags: {
    by: {
      takes: "WHAT",
      help: "one or two of day, hour, account, key, model, agent (default day)",
    },
    ...RANGE,
  },
  help: "Count runs by when they were started",
  example: "wadi runs usage --by agent --month 2027-01 --zone Asia/Riyadh",
  run: printRunUsage,
};

export const commands: readonly Command[] = [
  {
    name: "usage",
    flags: {
      by: {
        takes: "WHAT",
        help: "one or two of day, hour, account, key, model, route, agent, version (default day)",
      },
      ...RANGE,
    },
    help: "Sum requests, tokens and cost",
    example: "wadi usage --by account,model --month 2027-01 --zone Asia/Riyadh",
    run: printUsage,
  },
];
