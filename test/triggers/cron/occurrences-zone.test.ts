// Tests time zones: the names that the runtime knows, and their clock changes.
import { expect, test } from "bun:test";
import { ZONE_CHARACTERS_MAX } from "../../../src/platform/zone.ts";
import { stretchAt, zoneFault } from "../../../src/triggers/cron/occurrences.ts";
import { at } from "./use.ts";

test.each([
  ...["UTC", "Asia/Riyadh", "asia/riyadh", "America/Argentina/Buenos_Aires", "Etc/GMT+3"],
  ...["US/Eastern", "Europe/Kyiv", "Europe/Kiev", "GMT0", "EST5EDT", "America/Port-au-Prince"],
])("agents.resources.trigger: %s is the name of a time zone", (name) => {
  expect(zoneFault(name)).toBe(null);
});

test("agents.resources.trigger: every name that the runtime lists is accepted", () => {
  expect(Intl.supportedValuesOf("timeZone").filter((name) => zoneFault(name))).toEqual([]);
});

test.each([
  ...["", " ", "+03:00", "-0500", "+03", "Z", "UTC+3", "GMT+3", "UTC+03:00", "Asia/Riyad", "local"],
  ...["Asia/Riyadh ", "Asia/Riyadh\n", "Asia/Riyadh[x]", "2025-01-01T00:00Z[Asia/Tokyo]", "../UTC"],
  ...[
    "İran",
    "Asia\\Riyadh",
    "Asia/Riyadh\0",
    "A".repeat(ZONE_CHARACTERS_MAX + 1),
    "a/".repeat(1e5),
  ],
])("agents.errors.invalid_request: %j is no name of a time zone", (name) => {
  expect(zoneFault(name)).toStartWith("`time_zone` has to be the name of an IANA time zone");
});

test("a period begins with the clock change and ends before the next one", () => {
  const startMs = at("2025-03-09T07:00Z");
  const endMs = at("2025-11-02T06:00Z");
  const summer = { startMs, endMs, offsetMs: -4 * 3_600_000, offsetBeforeMs: -5 * 3_600_000 };
  expect(stretchAt("America/New_York", startMs)).toEqual(summer);
  expect(stretchAt("America/New_York", startMs + 1)).toEqual(summer);
  expect(stretchAt("America/New_York", endMs - 1)).toEqual(summer);
  expect(stretchAt("America/New_York", endMs).startMs).toBe(endMs);
  expect(stretchAt("America/New_York", startMs - 1).endMs).toBe(startMs);
});

test("a zone whose clocks no longer change is one period", () => {
  const zero = { offsetMs: 0, offsetBeforeMs: 0 };
  expect(stretchAt("UTC", 0)).toEqual({ startMs: -Infinity, endMs: Infinity, ...zero });
  expect(stretchAt("Asia/Riyadh", at("2025-06-01T00:00Z"))).toMatchObject({
    endMs: Infinity,
    offsetMs: 3 * 3_600_000,
  });
});
