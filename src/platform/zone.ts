// Names of time zones.

export const ZONE_CHARACTERS_MAX = 64;

/** Names begin with a letter; the runtime also accepts offsets such as `+03:00`. */
const ZONE_NAME = /^[A-Za-z][\w+/-]*$/;

export function isZone(name: string): boolean {
  if (name.length > ZONE_CHARACTERS_MAX || !ZONE_NAME.test(name)) return false;
  try {
    // Unlike similar constructors this one rejects an instant with a zone in brackets.
    new Temporal.ZonedDateTime(0n, name);
    return true;
  } catch {
    return false;
  }
}
