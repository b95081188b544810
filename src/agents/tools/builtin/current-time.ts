// The tool `current_time`: date, time and day of the week in a time zone.
import { type Static, Type } from "@sinclair/typebox";
import { type BuiltinTool, failure, success } from "../contract.ts";

const ZONE_CHARACTERS_MAX = 64;
const TIMEOUT_MS = 1_000;

const Parameters = Type.Object(
  {
    time_zone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: ZONE_CHARACTERS_MAX,
        description: 'An IANA time zone such as "Asia/Riyadh"; omitted: UTC.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const currentTime: BuiltinTool = {
  name: "current_time",
  description: "Tells the date, the time and the day of the week, now, in a time zone.",
  risk: "read",
  revision: 1,
  external_content: false,
  parameters: Parameters,
  timeout_ms: TIMEOUT_MS,
  isFree: true,
  async run(use) {
    const { time_zone = "UTC" } = use.arguments as Static<typeof Parameters>;
    const content = writeTime(use.now(), time_zone);
    if (content !== undefined) return success(content);
    return failure('There is no such time zone; use an IANA name such as "Asia/Riyadh", or "UTC".');
  },
};

/** Pattern of a zone's name; an offset such as "+03:00" is not accepted. */
const ZONE_NAME = /^[A-Za-z]/;

function writeTime(nowMs: number, time_zone: string): string | undefined {
  const format = ZONE_NAME.test(time_zone) ? openFormat(time_zone) : undefined;
  if (!format) return undefined;
  const part = new Map(format.formatToParts(nowMs).map(({ type, value }) => [type, value]));
  const date = `${part.get("year")}-${part.get("month")}-${part.get("day")}`;
  const time = `${part.get("hour")}:${part.get("minute")}:${part.get("second")}`;
  const offset = part.get("timeZoneName")!.slice("GMT".length) || "+00:00";
  return JSON.stringify({
    time: `${date}T${time}${offset}`,
    time_zone: format.resolvedOptions().timeZone,
    weekday: part.get("weekday"),
  });
}

/** Formats by time zone; creating one costs more than the rest of a call. */
const formats = new Map<string, Intl.DateTimeFormat>();
const FORMATS_MAX = 100;

function openFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = createFormat(timeZone);
  if (formats.size >= FORMATS_MAX) formats.clear();
  if (format) formats.set(timeZone, format);
  return format;
}

function createFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
  } catch {
    return undefined;
  }
}
