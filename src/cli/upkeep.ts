// `wadi usage`, `wadi secrets` and `wadi sweep`: upkeep of an installation.
import { upkeepOperations as operations, type UsageBy } from "../admin/index.ts";
import { readDay } from "../platform/calendar.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { call } from "./operations.ts";
import { layOutTable, printRow, printTable } from "./output.ts";

const HEADS: Record<UsageBy, readonly string[]> = {
  day: ["date"],
  account: ["account"],
  key: ["key_id", "key", "account"],
  model: ["model"],
  route: ["route"],
};
const SUMS = ["requests", "failed", "prompt_tokens", "completion_tokens", "cost", "unpriced"];

function readGrouping(input: CommandInput): UsageBy {
  const text = readText(input, "by") ?? "day";
  if (Object.hasOwn(HEADS, text)) return text as UsageBy;
  throw new UsageError(`--by takes day, account, key, model or route, but is "${text}"`);
}

function readDate(input: CommandInput, name: string): string | undefined {
  const text = readText(input, name);
  if (text === undefined) return undefined;
  if (readDay(text) !== null) return text;
  throw new UsageError(`--${name} takes a date such as 2027-01-05, but is "${text}"`);
}

const count = (number: number): string => (number === 1 ? "1 secret" : `${number} secrets`);

export const commands: readonly Command[] = [
  {
    name: "usage",
    flags: {
      by: { takes: "WHAT", help: "day, account, key, model or route (default day)" },
      from: { takes: "DATE", help: "first day in UTC (default 29 days before the last)" },
      to: { takes: "DATE", help: "last day (default today)" },
    },
    help: "Sum requests, tokens and cost",
    example: "wadi usage --by account --from 2027-01-01",
    async run(input, output) {
      const by = readGrouping(input);
      const request = { by, from: readDate(input, "from"), to: readDate(input, "to") };
      const report = await call(input, operations.usage, request);
      const heads = HEADS[by];
      const total = { ...report.totals, [heads[0]!]: "total" };
      output.say(`from ${report.from} to ${report.to} (UTC); cost in SAR`);
      output.print(report, layOutTable(output, [...report.rows, total], [...heads, ...SUMS]));
      return 0;
    },
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
