// Tests the periods of limits: minutes, days and months, in UTC and in zones with clock changes.
import { expect, test } from "bun:test";
import { createCalendar, QUARTER_MS } from "../../../src/gateway/budgets/period.ts";

const show = (zone: string, period: "minute" | "day" | "month", at: string) => {
  const { start, end } = createCalendar(zone)(period, Date.parse(at));
  return [start, end].map((time) => new Date(time).toISOString().replace(":00.000Z", "Z"));
};

test.each([
  ["UTC", "minute", "2026-11-20T12:34:56.789Z", "2026-11-20T12:34Z", "2026-11-20T12:35Z"],
  ["UTC", "day", "2026-11-20T00:00:00.000Z", "2026-11-20T00:00Z", "2026-11-21T00:00Z"],
  ["UTC", "day", "2026-11-20T23:59:59.999Z", "2026-11-20T00:00Z", "2026-11-21T00:00Z"],
  ["UTC", "month", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00Z", "2027-01-01T00:00Z"],
  ["UTC", "month", "2028-02-10T00:00:00Z", "2028-02-01T00:00Z", "2028-03-01T00:00Z"],
  ["Asia/Riyadh", "minute", "2026-11-20T12:34:56Z", "2026-11-20T12:34Z", "2026-11-20T12:35Z"],
  ["Asia/Riyadh", "day", "2026-11-20T20:59:59Z", "2026-11-19T21:00Z", "2026-11-20T21:00Z"],
  ["Asia/Riyadh", "day", "2026-11-20T21:00:00Z", "2026-11-20T21:00Z", "2026-11-21T21:00Z"],
  ["Asia/Riyadh", "month", "2026-11-30T21:00:00Z", "2026-11-30T21:00Z", "2026-12-31T21:00Z"],
  ["Asia/Kathmandu", "day", "2026-11-20T12:00:00Z", "2026-11-19T18:15Z", "2026-11-20T18:15Z"],
  // 23 and 25 hours.
  ["Europe/Berlin", "day", "2026-03-29T12:00:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"],
  ["Europe/Berlin", "day", "2026-10-25T12:00:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"],
  ["Europe/Berlin", "month", "2026-10-25T12:00:00Z", "2026-09-30T22:00Z", "2026-10-31T23:00Z"],
  // The clocks of Santiago skip midnight.
  ["America/Santiago", "day", "2026-09-06T12:00:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"],
] as const)("%s: the %s of %s", (zone, period, at, start, end) => {
  expect(show(zone, period, at)).toEqual([start, end]);
});

test("a calendar moves on with the clock, and back", () => {
  const find = createCalendar("Asia/Riyadh");
  const first = find("day", Date.parse("2026-11-20T12:00:00Z"));
  expect(find("day", first.end - 1)).toBe(first);
  const next = find("day", first.end);
  expect(next.start).toBe(first.end);
  expect(find("day", first.start)).toEqual(first);
});

test("days of every zone begin at a full quarter of an hour", () => {
  const at = Date.parse("2026-11-20T12:00:00Z");
  const starts = Intl.supportedValuesOf("timeZone").map(
    (zone) => createCalendar(zone)("day", at).start % QUARTER_MS,
  );
  expect(starts.every((rest) => rest === 0)).toBe(true);
});
