// A second, slow computation of schedules: it checks each minute of a span by its own rules.

const MINUTE_MS = 60_000;

/** The values of each field, or `null` for `*`. */
export interface Fields {
  minute: number[] | null;
  hour: number[] | null;
  day: number[] | null;
  month: number[] | null;
  weekday: number[] | null;
}

/** The local time of a zone at each minute of a span, as if in UTC; by `Intl` alone. */
export function walkClock(zone: string, fromMs: number, toMs: number): [number, number][] {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    ...({ year: "numeric", month: "numeric", day: "numeric" } as const),
    ...({ hour: "numeric", minute: "numeric" } as const),
  });
  const walk: [number, number][] = [];
  for (let time_ms = fromMs; time_ms < toMs; time_ms += MINUTE_MS) {
    const [month, day, year, hour, minute] = format.format(time_ms).split(/\D+/).map(Number);
    walk.push([time_ms, Date.UTC(year!, month! - 1, day, hour, minute)]);
  }
  return walk;
}

/** The instants at which a schedule fires; the first only provides the state before. */
export function fireByWalking(fields: Fields, walk: readonly [number, number][]): number[] {
  const isInterval = fields.hour === null || new Set(fields.hour).size === 24;
  const fired: number[] = [];
  let [, latestMs] = walk[0]!;
  for (const [time_ms, wall_ms] of walk.slice(1)) {
    if (isInterval) {
      if (names(fields, wall_ms)) fired.push(time_ms);
      continue;
    }
    // From the minute after the latest one shown so far, up to the current one.
    let isNamed = false;
    for (let newMs = latestMs + MINUTE_MS; newMs <= wall_ms; newMs += MINUTE_MS) {
      isNamed ||= names(fields, newMs);
    }
    if (isNamed) fired.push(time_ms);
    latestMs = Math.max(latestMs, wall_ms);
  }
  return fired;
}

function names({ minute, hour, day, month, weekday }: Fields, wall_ms: number): boolean {
  const shown = new Date(wall_ms);
  const has = (values: number[] | null, value: number) => values?.includes(value) ?? true;
  const isDay = has(day, shown.getUTCDate());
  const isWeekday = has(weekday, shown.getUTCDay());
  const isOneOfThem = day && weekday ? isDay || isWeekday : isDay && isWeekday;
  const isTime = has(minute, shown.getUTCMinutes()) && has(hour, shown.getUTCHours());
  return isTime && has(month, shown.getUTCMonth() + 1) && isOneOfThem;
}
