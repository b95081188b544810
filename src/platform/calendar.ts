// Days and instants as people write them.

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Reads a day as its first millisecond in UTC; null if no calendar has it. */
export function readDay(text: string): number | null {
  const time = DAY.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN;
  // Date.parse reads 30 February as 2 March.
  return !Number.isNaN(time) && writeDay(time) === text ? time : null;
}

export function writeDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Reads an ISO 8601 instant with its zone as milliseconds since 1970; null if there is none. */
export function readInstant(text: string): number | null {
  const day = INSTANT.exec(text)?.[1];
  if (day === undefined || readDay(day) === null) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

export function nextDay(day: string): string {
  return writeDay(readDay(day)! + DAY_MS);
}

/** Lists days from the first to the last, both included. */
export function* listDays(first: string, last: string): Generator<string> {
  for (let day = first; day <= last; day = nextDay(day)) yield day;
}
