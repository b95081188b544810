// Options of `wadi accounts limit` and `wadi keys limit`, and how limits are printed.
import { type LimitFields, PERIODS } from "../admin/index.ts";
import { parseMoney } from "../platform/money.ts";
import { type CommandInput, type Flag, readText, UsageError } from "./command.ts";
import { drawTable, type Output, type OutputRow } from "./output.ts";

const NONE = "none";
const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };
const COUNT = /^(\d{1,15})(?:\.(\d{1,9}))?([kMG]?)$/;
const COLUMNS = ["name", "maximum", "used", "reserved", "resets_at"];

export const limitFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  PERIODS.flatMap((period): [string, Flag][] => [
    [`requests-${period}`, { takes: "N", help: `maximum requests a ${period}, or none` }],
    [`tokens-${period}`, { takes: "2M", help: `maximum tokens a ${period} (k, M, G), or none` }],
    [`cost-${period}`, { takes: "500", help: `maximum SAR a ${period}, or none` }],
  ]),
);

/** Reads the limits to change; undefined where no option names one. */
export function readLimitChange(input: CommandInput): LimitFields | undefined {
  const change: Record<string, number | string | null> = {};
  for (const flag of Object.keys(limitFlags)) {
    const text = readText(input, flag);
    if (text === undefined) continue;
    const read = flag.startsWith("cost-") ? readMoney : readCount;
    change[flag.replace("-", "_")] = text === NONE ? null : read(flag, text);
  }
  return Object.keys(change).length === 0 ? undefined : change;
}

export function printLimits(output: Output, reply: { limits: readonly OutputRow[] }): number {
  const { limits } = reply;
  output.print(reply, limits.length === 0 ? "no limits\n" : drawTable(limits, COLUMNS));
  return 0;
}

/** Digits are moved as text, so that `1.1M` is exact. */
function readCount(flag: string, text: string): number {
  const [, whole = "", part = "", unit = ""] = COUNT.exec(text) ?? [];
  const zeros = Math.log10(UNITS[unit]!);
  const count = part.length > zeros ? Number.NaN : Number(whole + part.padEnd(zeros, "0"));
  if (whole !== "" && Number.isSafeInteger(count)) return count;
  throw new UsageError(
    `--${flag} takes a number such as 500, 20k or 2M, or none, but is "${text}"`,
  );
}

function readMoney(flag: string, text: string): string {
  try {
    parseMoney(text);
    return text;
  } catch (error) {
    throw new UsageError(`--${flag} ${(error as Error).message}, or none, but is "${text}"`);
  }
}
