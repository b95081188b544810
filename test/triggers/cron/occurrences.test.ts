// Tests that fires follow the clocks of their zone, through every kind of clock change.
import { describe, expect, test } from "bun:test";
import {
  DUE_COUNT_MAX,
  findDue,
  nextAfter,
  upcoming,
} from "../../../src/triggers/cron/occurrences.ts";
import { createDraw } from "../../support/draw.ts";
import { type Fields, fireByWalking, walkClock } from "./reference.ts";
import { at, show, takeSchedule } from "./use.ts";

const DAY_MS = 86_400_000;
const NEW_YORK = "America/New_York";
const LORD_HOWE = "Australia/Lord_Howe";

describe("agents.resources.trigger: a schedule fires by the clocks of its zone", () => {
  test.each([
    // 02:00 to 03:00 is skipped.
    [NEW_YORK, "30 2 * * *", "2025-03-08T12:00Z", ["03-09 03:00 -04:00", "03-10 02:30 -04:00"]],
    [
      NEW_YORK,
      "0 2,3 9 3 *",
      "2025-03-08T12:00Z",
      ["03-09 03:00 -04:00", "2026-03-09 02:00 -04:00"],
    ],
    [NEW_YORK, "*/15 2 * * *", "2025-03-08T12:00Z", ["03-09 03:00 -04:00", "03-10 02:00 -04:00"]],
    [NEW_YORK, "* 2 * * *", "2025-03-08T12:00Z", ["03-09 03:00 -04:00", "03-10 02:00 -04:00"]],
    [NEW_YORK, "30 */2 * * *", "2025-03-09T05:00Z", ["03-09 00:30 -05:00", "03-09 03:00 -04:00"]],
    [NEW_YORK, "59 1 * * *", "2025-03-09T05:00Z", ["03-09 01:59 -05:00", "03-10 01:59 -04:00"]],
    [NEW_YORK, "0 3 * * *", "2025-03-09T05:00Z", ["03-09 03:00 -04:00", "03-10 03:00 -04:00"]],
    [NEW_YORK, "30 * * * *", "2025-03-09T06:00Z", ["03-09 01:30 -05:00", "03-09 03:30 -04:00"]],
    // 01:00 to 02:00 is repeated.
    [NEW_YORK, "30 1 * * *", "2025-11-02T04:00Z", ["11-02 01:30 -04:00", "11-03 01:30 -05:00"]],
    [NEW_YORK, "*/30 1 * * *", "2025-11-02T05:00Z", ["11-02 01:30 -04:00", "11-03 01:00 -05:00"]],
    [NEW_YORK, "0 2 * * *", "2025-11-02T04:00Z", ["11-02 02:00 -05:00", "11-03 02:00 -05:00"]],
    [
      ...([NEW_YORK, "*/30 * * * *", "2025-11-02T05:00Z"] as const),
      ["11-02 01:30 -04:00", "11-02 01:00 -05:00", "11-02 01:30 -05:00", "11-02 02:00 -05:00"],
    ],
    // 02:00 to 02:30 is skipped; 01:30 to 02:00 is repeated.
    [LORD_HOWE, "15 2 * * *", "2025-10-04T00:00Z", ["10-05 02:30 +11:00", "10-06 02:15 +11:00"]],
    [LORD_HOWE, "*/15 2 * * *", "2025-10-04T12:00Z", ["10-05 02:30 +11:00", "10-05 02:45 +11:00"]],
    [LORD_HOWE, "45 1 * * *", "2025-04-05T00:00Z", ["04-06 01:45 +11:00", "04-07 01:45 +10:30"]],
    [
      ...([LORD_HOWE, "*/15 * * * *", "2025-04-05T14:35Z"] as const),
      ["04-06 01:45 +11:00", "04-06 01:30 +10:30", "04-06 01:45 +10:30", "04-06 02:00 +10:30"],
    ],
    [
      "Asia/Riyadh",
      "0 9 * * SUN",
      "2025-03-28T00:00Z",
      ["03-30 09:00 +03:00", "04-06 09:00 +03:00"],
    ],
    // 00:00 to 01:00 is skipped.
    [
      "Africa/Cairo",
      "0 0 * * *",
      "2025-04-24T00:00Z",
      ["04-25 01:00 +03:00", "04-26 00:00 +03:00"],
    ],
    ["Asia/Beirut", "0 0 * * *", "2025-03-29T00:00Z", ["03-30 01:00 +03:00", "03-31 00:00 +03:00"]],
    ["Asia/Beirut", "5,50 0 30 * *", "2025-03-29T00:00Z", ["03-30 01:00 +03:00"]],
    ["America/Sao_Paulo", "0 0 4 11 *", "2018-11-01T00:00Z", ["11-04 01:00 -02:00"]],
    // 23:00 to 24:00 is repeated, and so is the day.
    ["America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00Z", ["02-17 23:30 -02:00"]],
    [
      "Africa/Cairo",
      "30 23 * * *",
      "2025-10-30T12:00Z",
      ["10-30 23:30 +03:00", "10-31 23:30 +02:00"],
    ],
    [
      "Europe/London",
      "30 1 * * *",
      "2025-03-29T12:00Z",
      ["03-30 02:00 +01:00", "03-31 01:30 +01:00"],
    ],
    [
      "Europe/London",
      "30 1 * * *",
      "2025-10-25T12:00Z",
      ["10-26 01:30 +01:00", "10-27 01:30 +00:00"],
    ],
    // A whole day is skipped.
    [
      "Pacific/Apia",
      "0 9 * * *",
      "2011-12-29T00:00Z",
      ["12-29 09:00 -10:00", "12-31 00:00 +14:00"],
    ],
    ["Pacific/Apia", "0 9 30 12 *", "2011-12-01T00:00Z", ["12-31 00:00 +14:00"]],
    // The next such day is years away.
    ["UTC", "0 0 29 2 *", "2096-03-01T00:00Z", ["2104-02-29 00:00 +00:00"]],
    [NEW_YORK, "0 12 29 2 *", "2097-01-01T00:00Z", ["2104-02-29 12:00 -05:00"]],
  ])("%s %j after %s", (zone, text, after, fires) => {
    const year = after.slice(0, 4);
    const whole = fires.map((fire) => (fire.length > 18 ? fire : `${year}-${fire}`));
    const found = upcoming(takeSchedule(text), zone, at(after), fires.length);
    expect(show(zone, found)).toEqual(whole);
  });

  test("the next fire is later than the given instant, to the millisecond", () => {
    const schedule = takeSchedule("30 9 * * *");
    const fire_ms = at("2025-05-01T09:30Z");
    expect(nextAfter(schedule, "UTC", fire_ms - 1)).toBe(fire_ms);
    expect(nextAfter(schedule, "UTC", fire_ms)).toBe(fire_ms + DAY_MS);
    expect(upcoming(schedule, "UTC", fire_ms, 0)).toEqual([]);
  });

  test("the end of a gap is a fire from the instant before it on, and not after it", () => {
    const schedule = takeSchedule("30 2 * * *");
    const gap_ms = at("2025-03-09T07:00Z");
    expect(nextAfter(schedule, NEW_YORK, gap_ms - 1)).toBe(gap_ms);
    expect(nextAfter(schedule, NEW_YORK, gap_ms)).toBe(at("2025-03-10T06:30Z"));
  });
});

describe("due fires", () => {
  const every = takeSchedule("* * * * *");
  const daily = takeSchedule("0 9 * * *");
  const start_ms = at("2025-01-01T09:00Z");

  test.each([
    ["nothing", daily, start_ms + 1, start_ms + DAY_MS - 1, null],
    ["none, as the clock was set back", daily, start_ms, start_ms - 1, null],
    ["the first alone", daily, start_ms, start_ms, [start_ms, 1, true]],
    ["a week", daily, start_ms, start_ms + 7 * DAY_MS - 1, [start_ms + 6 * DAY_MS, 7, true]],
    ["as many as the count allows", every, 0, 9_999 * 60_000, [9_999 * 60_000, 10_000, true]],
    ["one more", every, 0, 10_000 * 60_000, [10_000 * 60_000, 10_000, false]],
    ["a year of minutes", every, 1, 365 * DAY_MS + 59_999, [365 * DAY_MS, 10_000, false]],
    ["every day since 1970", daily, 0, start_ms, [start_ms, 10_000, false]],
  ] as const)("%s", (_, schedule, firstMs, now_ms, due) => {
    expect(findDue(schedule, "UTC", firstMs, now_ms)).toEqual(
      due && { latestMs: due[0], count: due[1], isExact: due[2] },
    );
  });

  test("a year away in New York has its gap and its doubled hour", () => {
    const [firstMs, now_ms] = [at("2025-01-01T00:00-05:00"), at("2025-12-31T23:59-05:00")];
    const due = (text: string) => findDue(takeSchedule(text), NEW_YORK, firstMs, now_ms);
    const last = (text: string) => at(`2025-12-31T${text}-05:00`);
    expect(due("0 * * * *")).toEqual({ latestMs: last("23:00"), count: 8_760, isExact: true });
    expect(due("30 1-2 * * *")).toEqual({ latestMs: last("02:30"), count: 730, isExact: true });
    expect(due("*/2 2 * * *")).toMatchObject({ latestMs: last("02:58"), isExact: false });
    expect(due("*/5 2 * * *")).toMatchObject({ count: 364 * 12 + 1, isExact: true });
    expect(due("0 2,3 * * *")).toMatchObject({ count: 729, isExact: true });
    expect(due("* * 31 12 *")).toEqual({ latestMs: last("23:59"), count: 1_440, isExact: true });
  });
});

describe("each minute around a clock change agrees with a second computation", () => {
  const draw = createDraw(11);
  const below = (count: number) => Math.floor(draw() * count);
  /** Empty, or some values, most of them near `around`, where clocks change. */
  const drawField = (low: number, high: number, share: number, deps = low) =>
    draw() >= share
      ? null
      : Array.from({ length: 1 + below(4) }, () =>
          draw() < 0.6 ? Math.min(high, deps + below(4)) : low + below(high - low + 1),
        );
  const write = ({ minute, hour, day, month, weekday }: Fields) =>
    [minute, hour, day, month, weekday].map((values) => values?.join(",") ?? "*").join(" ");

  test.each([
    ...[[NEW_YORK, "2025-03-09"] as const, [NEW_YORK, "2025-11-02"] as const],
    ...[[LORD_HOWE, "2025-04-06"] as const, [LORD_HOWE, "2025-10-05"] as const],
    ...[["Africa/Cairo", "2025-04-25"] as const, ["Africa/Cairo", "2025-10-31"] as const],
    ...[["Asia/Beirut", "2025-03-30"] as const, ["Asia/Beirut", "2025-10-26"] as const],
    ...[["Europe/London", "2025-03-30"] as const, ["Europe/London", "2025-10-26"] as const],
    ["America/Sao_Paulo", "2018-02-18"],
    ["America/Sao_Paulo", "2018-11-04"],
    ["Antarctica/Troll", "2025-03-30"],
    ["Antarctica/Troll", "2025-10-26"],
    ["Africa/Casablanca", "2025-02-23"],
    ["Africa/Casablanca", "2025-04-06"],
    ["Asia/Pyongyang", "2018-05-05"],
    ["Pacific/Apia", "2011-12-30"],
    ["Asia/Riyadh", "2025-03-09"],
    ["UTC", "2025-01-01"],
  ])("%s, %s", (zone, day) => {
    const change_ms = at(`${day}T00:00Z`);
    const walk = walkClock(zone, change_ms - 4 * DAY_MS, change_ms + 4 * DAY_MS);
    const [fromMs, toMs] = [walk[0]![0] + 1, walk.at(-1)![0]];
    const month = new Date(change_ms).getUTCMonth() + 1;
    let fires = 0;
    for (let round = 0; round < 15; round++) {
      const fields: Fields = {
        minute: drawField(0, 59, 0.8),
        hour: drawField(0, 23, 0.7),
        day: drawField(1, 31, 0.3, new Date(change_ms).getUTCDate() - 1 || 1),
        month: draw() < 0.2 ? [month] : null,
        weekday: drawField(0, 6, 0.3),
      };
      const text = write(fields);
      const schedule = takeSchedule(text);
      const expected = fireByWalking(fields, walk);
      fires += expected.length;

      const found = upcoming(schedule, zone, fromMs - 1, expected.length + 1);
      expect([text, found.filter((fire_ms) => fire_ms <= toMs)]).toEqual([text, expected]);
      for (let look = 0; look < 25; look++) {
        // A trigger looks from the instant for which it waited.
        const waited = look % 3 === 0 ? expected[below(expected.length)] : undefined;
        const firstMs = waited ?? fromMs + below(toMs - fromMs);
        const now_ms = firstMs + below((toMs - firstMs) / (look % 2 ? 1 : 20));
        const due = expected.filter((fire_ms) => fire_ms >= firstMs && fire_ms <= now_ms);
        const [latestMs, count] = [due.at(-1)!, due.length];
        expect([text, firstMs, now_ms, findDue(schedule, zone, firstMs, now_ms)]).toEqual([
          ...[text, firstMs, now_ms],
          count === 0
            ? null
            : {
                latestMs,
                count: Math.min(count, DUE_COUNT_MAX),
                isExact: count <= DUE_COUNT_MAX,
              },
        ]);
      }
    }
    expect(fires).toBeGreaterThan(500);
  });
});
