// Days and instants as people write them; what no calendar has is nothing.

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** The first millisecond of a day in UTC, since 1970; null: there is no such day. */
export function readDay(text: string): number | null {
  const time_ms = DAY.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN;
  // 30 February would be read as 2 March.
  return !Number.isNaN(time_ms) && writeDay(time_ms) === text ? time_ms : null;
}

/** The day in UTC of an instant, such as `2026-11-20`. */
export function writeDay(time_ms: number): string {
  return new Date(time_ms).toISOString().slice(0, 10);
}

/** Milliseconds since 1970 of an instant of ISO 8601 with its zone; null: there is no such one. */
export function readInstant(text: string): number | null {
  const day = INSTANT.exec(text)?.[1];
  if (day === undefined || readDay(day) === null) return null;
  const time_ms = Date.parse(text);
  return Number.isNaN(time_ms) ? null : time_ms;
}
