// Cron schedules of five fields: their syntax, and the wall-clock times that they name.
import { Cron, CronPattern } from "croner";

/** Times on a wall clock without a zone, written as UTC milliseconds since 1970. */
export interface Schedule {
  /** Runs in every hour of its days, so that it is an interval in real time. */
  isEveryHour: boolean;
  earliest(fromMs: number): number | null;
  latest(toMs: number): number | null;
  /** Counts named times in [fromMs, toMs), up to `most`. */
  count(fromMs: number, toMs: number, most: number): number;
}

export type ScheduleReading = { ok: true; schedule: Schedule } | { ok: false; fault: string };

export const SCHEDULE_CHARACTERS_MAX = 128;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const SOME_DAY = new Date(Date.UTC(2000, 0, 1));
const DAYS = { mode: "5-part", utcOffset: 0 } as const;

const NUMBERS = /^[\d*/,-]+$/;
const MONTHS = /^(?:[\d*/,-]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)+$/i;
const WEEKDAYS = /^(?:[\d*/,-]|SUN|MON|TUE|WED|THU|FRI|SAT)+$/i;

/** Fields in order: name, allowed characters, and values as an error names them. */
const FIELDS: readonly [name: string, pattern: RegExp, values: string][] = [
  ["first field, the minute,", NUMBERS, "0 to 59"],
  ["second field, the hour,", NUMBERS, "0 to 23"],
  ["third field, the day of the month,", NUMBERS, "1 to 31"],
  ["fourth field, the month,", MONTHS, "1 to 12 or JAN to DEC"],
  ["fifth field, the day of the week,", WEEKDAYS, "0 to 7 (0 and 7 are Sunday) or SUN to SAT"],
];

/** agents.resources.trigger */
export function readSchedule(text: string): ScheduleReading {
  const fault = (message: string): ScheduleReading => ({ ok: false, fault: message });
  if (text.length > SCHEDULE_CHARACTERS_MAX) {
    return fault(`\`cron\` has at most ${SCHEDULE_CHARACTERS_MAX} characters.`);
  }
  const fields = text.trim().split(/[ \t]/);
  if (fields.length !== FIELDS.length) {
    return fault(
      "`cron` has to be five fields with one space between them (minute, hour, day of the month, " +
        "month, day of the week), such as `30 9 * * MON-FRI`.",
    );
  }
  const odd = FIELDS.findIndex(([, pattern], at) => !pattern.test(fields[at]!));
  const wrong = odd === -1 && !isAccepted(fields) ? findWrong(fields) : odd;
  if (wrong !== -1) {
    const [name, , values] = FIELDS[wrong]!;
    return fault(
      `The ${name} of \`cron\` has to be \`*\`, a value, a range such as \`1-5\`, a step such as ` +
        `\`*/2\` or \`1-5/2\`, or several of them with commas between; values are ${values}.`,
    );
  }
  const schedule = openSchedule(fields);
  return schedule.earliest(SOME_DAY.getTime()) === null
    ? fault("`cron` names a day that no month has, so it would never fire.")
    : { ok: true, schedule };
}

/** Tries each field alone, since the library's errors do not name the field. */
function findWrong(fields: readonly string[]): number {
  return fields.findIndex(
    (field, at) => !isAccepted(FIELDS.map((_, n) => (n === at ? field : "*"))),
  );
}

function isAccepted(fields: readonly string[]): boolean {
  try {
    parse(fields);
    return true;
  } catch {
    return false;
  }
}

function parse(fields: readonly string[]): CronPattern {
  return new CronPattern(fields.join(" "), undefined, { mode: DAYS.mode });
}

/**
 * Uses the library for days only. Minutes are the same each day, so that whole days are counted at
 * once.
 */
function openSchedule(fields: readonly string[]): Schedule {
  const { minute, hour } = parse(fields);
  const hours = selected(hour);
  const minutes = selected(minute);
  const times = hours.flatMap((h) => minutes.map((m) => (h * 60 + m) * MINUTE_MS));
  const [first, last] = [times[0]!, times.at(-1)!];
  // Without a callback it starts no timer. When day of the month and day of the week are both
  // restricted, either is enough, as in every cron.
  const days = new Cron(["0", "0", ...fields.slice(2)].join(" "), DAYS);

  return {
    isEveryHour: hours.length === 24,
    earliest(fromMs) {
      const day = dayOf(fromMs);
      if (fromMs <= day + last && days.match(new Date(day))) {
        return day + times.find((time) => day + time >= fromMs)!;
      }
      const next = days.nextRun(new Date(day));
      return next && next.getTime() + first;
    },
    latest(toMs) {
      const day = dayOf(toMs);
      if (toMs >= day + first && days.match(new Date(day))) {
        return day + times.findLast((time) => day + time <= toMs)!;
      }
      const [before] = days.previousRuns(1, new Date(day));
      return before ? before.getTime() + last : null;
    },
    count(fromMs, toMs, most) {
      let found = 0;
      for (let day = dayOf(fromMs); day < toMs && found < most; day += DAY_MS) {
        if (!days.match(new Date(day))) continue;
        const isWhole = fromMs <= day + first && day + last < toMs;
        const isIn = (time: number) => day + time >= fromMs && day + time < toMs;
        found += isWhole ? times.length : times.filter(isIn).length;
      }
      return Math.min(found, most);
    },
  };
}

function selected(flags: readonly number[]): number[] {
  return flags.flatMap((isSet, value) => (isSet ? [value] : []));
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}
