// Tests existing and invalid days and instants.
import { expect, test } from "bun:test";
import { readDay, readInstant, writeDay } from "../../src/platform/calendar.ts";

test("a day is parsed if the calendar has it", () => {
  expect(readDay("2024-02-29")).toBe(Date.UTC(2024, 1, 29));
  expect(readDay("0000-01-01")).toBe(Date.parse("0000-01-01T00:00:00Z"));
  expect(writeDay(Date.UTC(2026, 10, 20, 23, 59, 59, 999))).toBe("2026-11-20");
  for (const text of ["2025-02-29", "2026-04-31", "2026-00-01", "2026-1-1", "", "2026-01-01 "]) {
    expect([text, readDay(text)]).toEqual([text, null]);
  }
});

test("an instant is parsed with its zone", () => {
  const at = Date.UTC(2026, 10, 20, 17, 42);
  for (const text of [
    "2026-11-20T17:42:00Z",
    "2026-11-20T17:42:00.000Z",
    "2026-11-20T18:42:00+01:00",
    "2026-11-20T17:42:00.000999Z",
  ]) {
    expect([text, readInstant(text)]).toEqual([text, at]);
  }
  for (const text of [
    "2026-11-20T17:42:00",
    "2026-11-20T24:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-11-20T17:42:00+99:99",
    "2026-11-20",
    "now",
  ]) {
    expect([text, readInstant(text)]).toEqual([text, null]);
  }
});
