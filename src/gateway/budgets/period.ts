// The periods of limits: minutes, and days and months of a calendar in one time zone.
import type { Period } from "../../access/index.ts";

export interface PeriodRange {
  /** First instant. */
  start: number;
  /** First instant behind it. */
  end: number;
}

export type FindPeriod = (period: Period, now: number) => PeriodRange;

export const MINUTE_MS = 60_000;
/** Days and months of every zone begin at a full quarter of an hour. */
export const QUARTER_MS = 900_000;

/** Length of the spans in which the use of a period is summed. */
export function spanOf({ start, end }: PeriodRange): number {
  return end - start === MINUTE_MS ? MINUTE_MS : QUARTER_MS;
}

const UTC = "UTC";

/** Keeps the last range of each period, since computing one in a zone takes long. */
export function createCalendar(zone: string): FindPeriod {
  const known = new Map<Period, PeriodRange>();
  return (period, now) => {
    const last = known.get(period);
    if (last && last.start <= now && now < last.end) return last;
    const range = zone === UTC ? findInUtc(period, now) : findInZone(period, now, zone);
    known.set(period, range);
    return range;
  };
}

function findInUtc(period: Period, now: number): PeriodRange {
  if (period === "minute") return findMinute(now);
  const at = new Date(now);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  return period === "day"
    ? { start: Date.UTC(year, month, day), end: Date.UTC(year, month, day + 1) }
    : { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

/** A day that a clock change begins late, or makes shorter, is whole. */
function findInZone(period: Period, now: number, zone: string): PeriodRange {
  if (period === "minute") return findMinute(now);
  const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  const first = period === "day" ? at : at.with({ day: 1 });
  const next = first.add(period === "day" ? { days: 1 } : { months: 1 });
  const startOf = (date: Temporal.PlainDate) => date.toZonedDateTime(zone).epochMilliseconds;
  return { start: startOf(first), end: startOf(next) };
}

function findMinute(now: number): PeriodRange {
  const start = now - (now % MINUTE_MS);
  return { start, end: start + MINUTE_MS };
}
