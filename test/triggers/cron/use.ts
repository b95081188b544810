// Functions for tests of schedules: parsing a valid one, and readable times.
import { readSchedule, type Schedule } from "../../../src/triggers/cron/schedule.ts";

export function takeSchedule(text: string): Schedule {
  const read = readSchedule(text);
  if (!read.ok) throw new Error(`${text}: ${read.fault}`);
  return read.schedule;
}

/** An instant such as `2025-03-09T03:00-04:00`, in milliseconds since 1970. */
export const at = (text: string): number => {
  const time_ms = Date.parse(text);
  if (Number.isNaN(time_ms)) throw new Error(`${text} is no instant`);
  return time_ms;
};

/** Instants on a zone's clock: `2025-03-09 03:00 -04:00`. */
export const show = (zone: string, instants: readonly number[]): string[] =>
  instants.map((instant_ms) => {
    const shown = Temporal.Instant.fromEpochMilliseconds(instant_ms).toZonedDateTimeISO(zone);
    const date = shown.toPlainDate();
    return `${date} ${shown.toPlainTime().toString({ smallestUnit: "minute" })} ${shown.offset}`;
  });
