// `wadi usage`, `wadi secrets`, `wadi resume` and `wadi sweep`: upkeep of an installation.
import {
  upkeepOperations as operations,
  type Resumption,
  USAGE_FIELDS,
  USAGE_SUMS,
} from "../admin/index.ts";
import { readDay } from "../platform/calendar.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { call } from "./operations.ts";
import {
  drawLines,
  layOutTable,
  type Output,
  printRow,
  printTable,
  quote,
  writeCsv,
} from "./output.ts";

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
  const report = await call(input, operations.usage, {
    by: readGroupings(input),
    from: readDate(input, "from"),
    to: readDate(input, "to"),
    month: readText(input, "month"),
    zone: readText(input, "zone"),
  });
  const { rows, from, to, zone, currency } = report;
  const fields = listFields(report.group_by);
  output.say(`from ${from} to ${to} (${zone}); cost in ${currency}`);
  if (isCsv) {
    output.print(report, writeCsv(rows, [...fields, ...USAGE_SUMS]));
    return 0;
  }
  const heads = fields.filter((name) => !HIDDEN.includes(name));
  const total = { ...report.totals, [heads[0]!]: "total" };
  output.print(report, layOutTable(output, [...rows, total], [...heads, ...SUMS]));
  return 0;
}

function readDate(input: CommandInput, name: string): string | undefined {
  const text = readText(input, name);
  if (text === undefined) return undefined;
  if (readDay(text) !== null) return text;
  throw new UsageError(`--${name} takes a date such as 2027-01-05, but is "${text}"`);
}

const count = (number: number): string => (number === 1 ? "1 secret" : `${number} secrets`);

function drawResumption(resumption: Resumption): string {
  const { was_paused, queued_runs, interrupted_runs, overdue } = resumption;
  const triggers = overdue.map(({ name, due_at, instants, fires }) => [
    "overdue",
    `${quote(name)}: ${instants} since ${due_at}, ${fires ? "fires now" : "missed"}`,
  ]);
  return drawLines([
    ["installation", was_paused ? "is no longer paused" : "was not paused"],
    ["runs", `${queued_runs} queued, ${interrupted_runs} interrupted`],
    ["deliveries", `${resumption.waiting_deliveries} waiting`],
    ["approvals", `${resumption.pending_approvals} pending`],
    ...(triggers.length > 0 ? triggers : [["overdue", "no trigger"]]),
  ]);
}

export const commands: readonly Command[] = [
  {
    name: "usage",
    flags: {
      by: {
        takes: "WHAT",
        help: "one or two of day, account, key, model, route, agent, version (default day)",
      },
      from: { takes: "DATE", help: "first day (default 29 days before the last)" },
      to: { takes: "DATE", help: "last day (default today)" },
      month: { takes: "MONTH", help: "month such as 2027-01, in place of both" },
      zone: { takes: "ZONE", help: "time zone of the days (default UTC)" },
      csv: { help: "comma-separated values, with every column" },
    },
    help: "Sum requests, tokens and cost",
    example: "wadi usage --by account,model --month 2027-01 --zone Asia/Riyadh",
    run: printUsage,
  },
  {
    name: "secrets rotate",
    flags: { "give-up": { help: "delete secrets that no available key opens" } },
    help: "Seal all stored secrets under a new secrets key",
    example: "wadi secrets rotate",
    async run(input, output) {
      const give_up = hasFlag(input, "give-up");
      const rotated = await call(input, operations.rotateSecrets, { give_up });
      const { is_resumed, resealed, given_up } = rotated;
      if (is_resumed) output.say("a rotation that was cut off is ended: its key is the new one");
      if (given_up > 0) {
        output.say(`${count(given_up)} that no key opens were deleted: set them anew`);
      }
      output.say("backups from before hold secrets that only the old key opens");
      output.print(rotated, `${count(resealed)} sealed again\n`);
      return 0;
    },
  },
  {
    name: "resume",
    isUnsuggested: true,
    help: "End the pause of a restored installation, and say what starts",
    example: "wadi resume",
    async run(input, output) {
      const resumption = await call(input, operations.resume, {});
      output.print(resumption, drawResumption(resumption));
      return 0;
    },
  },
  {
    name: "sweep",
    flags: { now: { help: "delete rows older than `[retention]` now" } },
    help: "Show the last deletion of old rows, or delete them now",
    example: "wadi sweep --now",
    async run(input, output) {
      if (hasFlag(input, "now")) {
        const swept = await call(input, operations.sweep, {});
        return printTable(output, swept, ["what", "rows"]);
      }
      const status = await call(input, operations.readSweep, {});
      if (status.is_clock_doubtful) {
        output.say(
          "the clock is over 7 days ahead of what was written last: a server deletes nothing " +
            "before it has run for 24 hours; where the clock is right, `wadi sweep --now` " +
            "deletes at once",
        );
      }
      return printRow(output, status);
    },
  },
];
