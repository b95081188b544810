// Tests the five fields of schedules, their times, and bounded work for any input.
import { describe, expect, test } from "bun:test";
import { readSchedule, SCHEDULE_CHARACTERS_MAX } from "../../../src/triggers/cron/schedule.ts";
import { createDraw } from "../../support/draw.ts";
import { at, takeSchedule } from "./use.ts";

const MONDAY = at("2026-06-01T00:00Z");

/** The first times from a Monday on, on a clock without a zone. */
function readTimes(text: string, count: number): string[] {
  const schedule = takeSchedule(text);
  const times: string[] = [];
  for (let fromMs = MONDAY; times.length < count; ) {
    const time_ms = schedule.earliest(fromMs)!;
    times.push(new Date(time_ms).toISOString().slice(0, 16));
    fromMs = time_ms + 1;
  }
  return times;
}

describe("agents.resources.trigger: five fields", () => {
  test.each([
    ["* * * * *", ["2026-06-01T00:00", "2026-06-01T00:01"]],
    ["  30\t9 * *\tMON-FRI ", ["2026-06-01T09:30", "2026-06-02T09:30"]],
    ["*/20 8-17/3 * * *", ["2026-06-01T08:00", "2026-06-01T08:20", "2026-06-01T08:40"]],
    ["50,05 23 * * *", ["2026-06-01T23:05", "2026-06-01T23:50", "2026-06-02T23:05"]],
    ["0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]],
    ["0 0 31 * *", ["2026-07-31T00:00", "2026-08-31T00:00", "2026-10-31T00:00"]],
    ["0 0 1 jul,Sep-NOV/2 *", ["2026-07-01T00:00", "2026-09-01T00:00", "2026-11-01T00:00"]],
    ["0 0 * * 7", ["2026-06-07T00:00", "2026-06-14T00:00"]],
    ["0 0 * * 0", ["2026-06-07T00:00", "2026-06-14T00:00"]],
    ["0 0 * * FRI-SUN", ["2026-06-05T00:00", "2026-06-06T00:00", "2026-06-07T00:00"]],
    ["0 0 * * 1,wed", ["2026-06-01T00:00", "2026-06-03T00:00", "2026-06-08T00:00"]],
    // Either is enough if both are restricted, by a step too.
    ["0 0 3 * FRI", ["2026-06-03T00:00", "2026-06-05T00:00", "2026-06-12T00:00"]],
    ["0 0 */15 * 5", ["2026-06-01T00:00", "2026-06-05T00:00", "2026-06-12T00:00"]],
    ["0 0 30 2 TUE", ["2027-02-02T00:00", "2027-02-09T00:00"]],
  ])("%j names %j", (text, times) => {
    expect(readTimes(text, times.length)).toEqual(times);
  });

  test.each([
    ["*", true],
    ["*/1", true],
    ["0-23", true],
    ["0-11,12-23", true],
    ["*/2", false],
    ["1-23", false],
    ["3", false],
  ])("with the hour %s a schedule runs in every hour: %p", (hour, isEveryHour) => {
    expect(takeSchedule(`*/15 ${hour} * * *`).isEveryHour).toBe(isEveryHour);
  });
});

describe("agents.errors.invalid_request: an invalid schedule is refused by its field", () => {
  const whole = "five fields";
  test.each([
    ["", whole],
    ["* * * *", whole],
    ["* * * * * *", whole],
    ["0  0 * * *", whole],
    ["0\n0 * * *", whole],
    ["0 0\u00a0* * *", whole],
    ["@daily", whole],
    ["@reboot", whole],
    ["@daily * * * *", "minute"],
    ["60 * * * *", "minute"],
    ["-1 * * * *", "minute"],
    ["1.5 * * * *", "minute"],
    ["*/0 * * * *", "minute"],
    ["*/61 * * * *", "minute"],
    ["5/5 * * * *", "minute"],
    ["1,,2 * * * *", "minute"],
    ["1, * * * *", "minute"],
    ["1-2-3 * * * *", "minute"],
    ["30-10 * * * *", "minute"],
    ["** * * * *", "minute"],
    ["? * * * *", "minute"],
    ["+5 * * * *", "minute"],
    ["٥ * * * *", "minute"],
    ["1e1 * * * *", "minute"],
    ["MON * * * *", "minute"],
    ["0 24 * * *", "hour"],
    ["0 0 0 * *", "day of the month"],
    ["0 0 32 * *", "day of the month"],
    ["0 0 L * *", "day of the month"],
    ["0 0 15W * *", "day of the month"],
    ["0 0 ? * MON", "day of the month"],
    ["0 0 * 0 *", "month"],
    ["0 0 * 13 *", "month"],
    ["0 0 * MON *", "month"],
    ["0 0 * JANFEB *", "month"],
    ["0 0 * JANUARY *", "month"],
    ["0 0 * NOV-FEB *", "month"],
    ["0 0 * * 8", "day of the week"],
    ["0 0 * * FRI#2", "day of the week"],
    ["0 0 * * FRIL", "day of the week"],
    ["0 0 * * 5L", "day of the week"],
    ["0 0 * * L", "day of the week"],
    ["0 0 * * SAT-MON", "day of the week"],
    ["0 0 * * SUN1", "day of the week"],
    ["0 0 * * ſun", "day of the week"],
    ["0 0 30 2 *", "never fire"],
    ["0 0 31 2,4,6,9,11 *", "never fire"],
    ["* * 30-31 FEB *", "never fire"],
  ])("%j: %s", (text, part) => {
    const read = readSchedule(text);
    expect(read).toEqual({ ok: false, fault: expect.stringContaining(part) });
    expect(!read.ok && read.fault).toStartWith(part === whole ? "`cron` has to be five" : "");
  });

  test("a text has a maximum length, including its spaces", () => {
    const text = `${"0-59/1,".repeat(17)}1 * * * *`;
    expect(text.length).toBe(SCHEDULE_CHARACTERS_MAX);
    expect(readSchedule(text).ok).toBe(true);
    expect(readSchedule(`${text} `)).toEqual({
      ok: false,
      fault: "`cron` has at most 128 characters.",
    });
    expect(readSchedule("*".repeat(1e6)).ok).toBe(false);
  });

  test("any input is a schedule or an error, and every schedule fires", () => {
    const draw = createDraw(9);
    const parts = ["*", "/", ",", "-", "0", "1", "5", "9", "31", "60", "JAN", "sun", "L", "é", "@"];
    const pick = () => parts[Math.floor(draw() * parts.length)]!;
    const field = () =>
      draw() < 0.5 ? "*" : Array.from({ length: 1 + draw() * 4 }, pick).join("");
    let taken = 0;
    for (let round = 0; round < 5_000; round++) {
      const read = readSchedule(Array.from({ length: 5 }, field).join(" "));
      if (!read.ok) continue;
      taken++;
      expect(read.schedule.earliest(MONDAY)).toBeGreaterThanOrEqual(MONDAY);
      expect(read.schedule.latest(MONDAY)).toBeLessThanOrEqual(MONDAY);
    }
    expect(taken).toBeGreaterThan(100);
  });
});

test("forward, backward and counting searches of a schedule agree", () => {
  const draw = createDraw(4);
  const span_ms = 40 * 86_400_000;
  for (const text of [
    "*/7 3-5 * * *",
    "59 23 28-31 * 0",
    "0 0 1 * *",
    "* * * 2 MON",
    "5 * * * *",
  ]) {
    const schedule = takeSchedule(text);
    const start_ms = at("2024-01-20T00:00Z") + Math.floor(draw() * 600) * 60_000 + 1;
    const times: number[] = [];
    for (let time_ms = start_ms; ; time_ms = times.at(-1)! + 1) {
      const next_ms = schedule.earliest(time_ms)!;
      if (next_ms >= start_ms + span_ms) break;
      times.push(next_ms);
    }
    expect(times.length).toBeGreaterThan(0);
    const back: number[] = [];
    for (let time_ms = start_ms + span_ms - 1; ; time_ms = back[0]! - 1) {
      const before_ms = schedule.latest(time_ms)!;
      if (before_ms < start_ms) break;
      back.unshift(before_ms);
    }
    expect(back).toEqual(times);
    expect(schedule.count(start_ms, start_ms + span_ms, 1e6)).toBe(times.length);
    expect(schedule.count(times[0]!, times.at(-1)!, 1e6)).toBe(times.length - 1);
    expect(schedule.count(times[0]!, times[0]!, 1e6)).toBe(0);
    expect(schedule.count(start_ms, start_ms + span_ms, 3)).toBe(Math.min(3, times.length));
  }
});
