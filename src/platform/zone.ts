// Time zones: their names, and their days.

export const ZONE_CHARACTERS_MAX = 64;

/** Names begin with a letter; the runtime also accepts offsets such as `+03:00`. */
const ZONE_NAME = /^[A-Za-z][\w+/-]*$/;

export function isZone(name: string): boolean {
  // The default, for which a start need not load the table of zones.
  if (name === "UTC") return true;
  if (name.length > ZONE_CHARACTERS_MAX || !ZONE_NAME.test(name)) return false;
  try {
    // Unlike similar constructors this one rejects an instant with a zone in brackets.
    new Temporal.ZonedDateTime(0n, name);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first instant of a day in a time zone, in milliseconds since 1970. */
export function startOfDay(day: string, zone: string): number {
  return Temporal.PlainDate.from(day).toZonedDateTime(zone).epochMilliseconds;
}

/** Writes the day of an instant in a time zone. */
export function writeDayIn(time: number, zone: string): string {
  const instant = Temporal.Instant.fromEpochMilliseconds(time);
  return instant.toZonedDateTimeISO(zone).toPlainDate().toString();
}
