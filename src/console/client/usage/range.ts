// The range of the address: a month, or some days up to one; hours are shown for two at most.
import { DAY_MS, writeDay } from "../format.ts";

export interface UsageSpan {
  from: string;
  to: string;
  /** Such as `2026-11`; null: a number of days. */
  month: string | null;
  days: number;
  isHourly: boolean;
}

const HOURLY_DAYS_MAX = 2;
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const DAYS = /^(\d{1,2})d$/;

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

export function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Today in a zone, such as `2026-11-22`. */
export const readToday = (nowMs: number, zone: string): string => writeDay(nowMs, zone);

/** Reads a range of the address; this month without one. */
export function readSpan(range: string, last: string, today: string): UsageSpan {
  const days = Number(DAYS.exec(range)?.[1] ?? 0);
  if (days > 0) {
    const to = last || today;
    const isHourly = days <= HOURLY_DAYS_MAX;
    return { from: addDays(to, 1 - days), to, month: null, days, isHourly };
  }
  const month = MONTH.test(range) ? range : today.slice(0, 7);
  const from = `${month}-01`;
  const to = addDays(`${addMonths(month, 1)}-01`, -1);
  const length = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  return { from, to, month, days: length, isHourly: false };
}

/** The fields of the address for the range before or after; null: it has not begun. */
export function moveSpan(
  span: UsageSpan,
  by: 1 | -1,
  today: string,
): Record<string, string> | null {
  if (span.month !== null) {
    const month = addMonths(span.month, by);
    return month > today.slice(0, 7) ? null : { range: month, to: "" };
  }
  const to = addDays(span.to, by * span.days);
  if (to > today) return span.to < today ? { to: "" } : null;
  return { to: to === today ? "" : to };
}

/** Days of a span, or the hours of its days as the server names them. */
export function listTimes({ from, to, isHourly }: UsageSpan, firstHour: number): string[] {
  const days: string[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) days.push(day);
  if (!isHourly) return days;
  return Array.from({ length: days.length * 24 }, (_, at) =>
    new Date(firstHour + at * 3_600_000).toISOString(),
  );
}

/** First instant of a day in a zone. */
export function startOfDay(day: string, zone: string): number {
  let instant = Date.parse(day);
  // The offset at the guess may be that of the other side of a change of clocks.
  for (let turn = 0; turn < 2; turn++) instant = Date.parse(day) - readOffset(instant, zone);
  return instant;
}

function readOffset(instant: number, zone: string): number {
  const options = { timeZone: zone, hourCycle: "h23", dateStyle: "short", timeStyle: "medium" };
  const written = new Date(instant).toLocaleString("sv-SE", options as Intl.DateTimeFormatOptions);
  return Date.parse(`${written.replace(" ", "T")}Z`) - Math.floor(instant / 1_000) * 1_000;
}
