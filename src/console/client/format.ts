// Numbers, times and sums as the console writes them.

import { isEnglish, language } from "./languages.ts";
import { writeCount } from "./texts/plural.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Units with their names in English; the browser knows those of other languages. */
const UNITS = { second: "s", minute: "min", hour: "h", day: "days" } as const;

/** Writes a duration in its largest unit with a count of two or more: `90 min`, then `2 h`. */
export function writeSpan(ms: number): string {
  const span = Math.max(0, ms);
  if (span < MINUTE_MS) return writeUnit(span / 1_000, "second");
  if (span < 2 * HOUR_MS) return writeUnit(span / MINUTE_MS, "minute");
  if (span < 2 * DAY_MS) return writeUnit(span / HOUR_MS, "hour");
  return writeUnit(span / DAY_MS, "day");
}

function writeUnit(amount: number, unit: keyof typeof UNITS): string {
  const number = Math.floor(amount);
  if (isEnglish()) return `${number} ${UNITS[unit]}`;
  const names = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(language().locale, names).format(number);
}

/** Writes how long something took, to three digits or two units. */
export function writeTook(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < MINUTE_MS) return `${(ms / 1_000).toFixed(1)} s`;
  const pair = (unit: number, part: number) =>
    [Math.floor(ms / unit), Math.floor((ms % unit) / part)] as const;
  const join = ([whole, rest]: readonly [number, number], unit: string, part: string) =>
    rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${String(rest).padStart(2, "0")} ${part}`;
  if (ms < HOUR_MS) return join(pair(MINUTE_MS, 1_000), "min", "s");
  if (ms < 2 * DAY_MS) return join(pair(HOUR_MS, MINUTE_MS), "h", "min");
  return join(pair(DAY_MS, HOUR_MS), "days", "h");
}

/** The reader's time zone, whose days and hours the pages show. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Writes a count by at most four digits, such as `28.4 M`. */
export function writeCompact(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} G`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} M`;
  if (count >= 1e5) return `${(count / 1e3).toFixed(1)} k`;
  return writeCount(count);
}

/** Writes the day of an instant in a zone, such as `2026-11-20`. */
export const writeDay = (timeMs: number, zone = ZONE): string =>
  new Date(timeMs).toLocaleDateString("sv-SE", { timeZone: zone });

/** Formats of times, made once for each language, which takes long. */
const formats = new Map<string, Intl.DateTimeFormat>();

function writeTime(iso: string, style: Intl.DateTimeFormatOptions): string {
  const { locale } = language();
  const key = `${locale} ${JSON.stringify(style)}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, style);
  formats.set(key, format);
  return format.format(new Date(iso));
}

export const writeClock = (iso: string): string => writeTime(iso, { timeStyle: "medium" });

/** Writes a time of the last 24 hours as such, and an earlier one with its day. */
export function writeMoment(iso: string, nowMs: number): string {
  if (nowMs - Date.parse(iso) < DAY_MS) return writeClock(iso);
  return writeDayAndMinute(iso);
}

/** Writes the hour and minute of a time, with its day unless that is today. */
export function writeRecent(iso: string, nowMs: number): string {
  const isToday = new Date(iso).toDateString() === new Date(nowMs).toDateString();
  return isToday ? writeMinute(iso) : writeDayAndMinute(iso);
}

const writeDayAndMinute = (iso: string): string =>
  `${writeTime(iso, { day: "numeric", month: "short" })}, ${writeMinute(iso)}`;

/** Writes the hour and minute of an instant. */
export const writeMinute = (iso: string): string => writeTime(iso, { timeStyle: "short" });

/** Writes a time with its date and zone, for titles. */
export const writeExact = (iso: string): string =>
  writeTime(iso, { dateStyle: "medium", timeStyle: "long" });

const MOMENT: Intl.DateTimeFormatOptions = {
  ...({ weekday: "short", day: "numeric", month: "short" } as const),
  ...({ hour: "2-digit", minute: "2-digit" } as const),
};

/** Writes a moment as the clocks of a zone show it; a browser may not know the zone. */
export function writeInZone(iso: string, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...MOMENT, timeZone }).format(new Date(iso));
  } catch {
    return iso;
  }
}

/** Splits a sum in SAR behind its second decimal: both parts are shown. */
export function splitMoney(sum: string | number): [string, string] {
  const text = Number(sum).toFixed(6);
  return [text.slice(0, -4), text.slice(-4)];
}

/** Shortens an id to its end, which commands take, too: ids of one hour begin alike. */
export const shortenId = (id: string): string => id.slice(-8);
