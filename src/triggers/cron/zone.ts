// Time zones: which names are taken, and the stretches of time in which a zone's clocks go evenly.

/** A stretch between two changes of a zone's clocks. */
export interface Stretch {
  /** Its first instant, where the clocks were changed; -Infinity: they never had been. */
  start_ms: number;
  /** The instant of the next change, which is no longer in it; Infinity: there is none. */
  endMs: number;
  /** What the clocks show, less the instant. */
  offsetMs: number;
  /** The offset before `start_ms`; where nothing was before, the same. */
  offsetBeforeMs: number;
}

export const ZONE_CHARACTERS_MAX = 64;

/** A name begins with a letter; the runtime takes offsets such as `+03:00` too. */
const NAME = /^[A-Za-z][\w+/-]*$/;

/** What is wrong with the name of a time zone; null: nothing. */
export function zoneFault(name: string): string | null {
  const isKnown = name.length <= ZONE_CHARACTERS_MAX && NAME.test(name) && hasZone(name);
  return isKnown
    ? null
    : "`time_zone` has to be the name of an IANA time zone, such as `Asia/Riyadh` or `UTC`.";
}

function hasZone(name: string): boolean {
  try {
    // Unlike others of its kind this takes no instant with a zone in brackets.
    new Temporal.ZonedDateTime(0n, name);
    return true;
  } catch {
    return false;
  }
}

/** The stretch in which an instant lies. */
export function stretchAt(zone: string, time_ms: number): Stretch {
  // Asked for what lies before, the runtime does not tell a change at this very instant.
  const start = inZone(zone, time_ms + 1).getTimeZoneTransition("previous");
  const end = inZone(zone, time_ms).getTimeZoneTransition("next");
  const offsetMs = offsetAt(zone, time_ms);
  const start_ms = start?.epochMilliseconds ?? -Infinity;
  return {
    start_ms,
    endMs: end?.epochMilliseconds ?? Infinity,
    offsetMs,
    offsetBeforeMs: start ? offsetAt(zone, start_ms - 1) : offsetMs,
  };
}

function offsetAt(zone: string, time_ms: number): number {
  return inZone(zone, time_ms).offsetNanoseconds / 1e6;
}

function inZone(zone: string, time_ms: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(time_ms).toZonedDateTimeISO(zone);
}
