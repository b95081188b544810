// Cron schedules of five fields: what is taken as one, and the times on a wall clock that it names.
import { Cron, CronPattern } from "croner";

/**
 * The times that a schedule names on a wall clock without a zone. All of them are written as if the
 * clock stood in UTC, in milliseconds since 1970.
 */
export interface Schedule {
  /** Whether it runs in every hour of its days: then it is an interval, which is real time. */
  isEveryHour: boolean;
  /** The earliest named time that is not before this one; null: there is none. */
  earliest(fromMs: number): number | null;
  /** The latest named time that is not after this one; null: there is none. */
  latest(toMs: number): number | null;
  /** How many named times lie in [from, to); counting ends where it has reached `most`. */
  count(fromMs: number, toMs: number, most: number): number;
}

export type ScheduleReading = { ok: true; schedule: Schedule } | { ok: false; fault: string };

export const SCHEDULE_CHARACTERS_MAX = 128;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Whether a schedule ever runs is asked from here on; any day would do. */
const SOME_DAY = new Date(Date.UTC(2000, 0, 1));
/** The days of a schedule are looked for in a clock without a zone. */
const DAYS = { mode: "5-part", utcOffset: 0 } as const;

const NUMBERS = /^[\d*/,-]+$/;
const MONTHS = /^(?:[\d*/,-]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)+$/i;
const WEEKDAYS = /^(?:[\d*/,-]|SUN|MON|TUE|WED|THU|FRI|SAT)+$/i;

/** The fields in their order: what each is called, what it is made of, and what may stand there. */
const FIELDS: readonly [name: string, madeOf: RegExp, values: string][] = [
  ["first field, the minute,", NUMBERS, "0 to 59"],
  ["second field, the hour,", NUMBERS, "0 to 23"],
  ["third field, the day of the month,", NUMBERS, "1 to 31"],
  ["fourth field, the month,", MONTHS, "1 to 12 or JAN to DEC"],
  ["fifth field, the day of the week,", WEEKDAYS, "0 to 7 (0 and 7 are Sunday) or SUN to SAT"],
];

/** agents.resources.trigger: a schedule of five fields, or what is wrong with the text. */
export function readSchedule(text: string): ScheduleReading {
  const fault = (says: string): ScheduleReading => ({ ok: false, fault: says });
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
  const odd = FIELDS.findIndex(([, madeOf], at) => !madeOf.test(fields[at]!));
  const wrong = odd === -1 && !isTaken(fields) ? findWrong(fields) : odd;
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

/** Each field is tried alone, because the library's own words do not say well which one it is. */
function findWrong(fields: readonly string[]): number {
  return fields.findIndex((field, at) => !isTaken(FIELDS.map((_, n) => (n === at ? field : "*"))));
}

function isTaken(fields: readonly string[]): boolean {
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
 * The library reads the fields and finds the days; the minutes of such a day are always the same,
 * so whole days are counted at once, and a year of minutes costs no more than a year of days.
 */
function openSchedule(fields: readonly string[]): Schedule {
  const { minute, hour } = parse(fields);
  const hours = marked(hour);
  const minutes = marked(minute);
  const times = hours.flatMap((h) => minutes.map((m) => (h * 60 + m) * MINUTE_MS));
  const [first, last] = [times[0]!, times.at(-1)!];
  // Without a function to run, it starts no timer. Where day of the month and day of the week are
  // both restricted, either is enough, as in every cron.
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

/** The places of a pattern's field that are set. */
function marked(places: readonly number[]): number[] {
  return places.flatMap((is, at) => (is ? [at] : []));
}

function dayOf(time_ms: number): number {
  return Math.floor(time_ms / DAY_MS) * DAY_MS;
}
