// When a trigger fires next, and which fires to come are shown.
import { expect, test } from "bun:test";
import { findNext, listUpcoming } from "../../src/triggers/due.ts";

const at = (text: string) => Date.parse(text);
const DAILY = { cron: "30 9 * * *", time_zone: "Asia/Riyadh" };
const HOOK = { cron: null, time_zone: null };

test("agents.resources.trigger the next fire lies behind the moment, by the zone's clocks", () => {
  expect(findNext(DAILY, at("2026-11-20T06:29:59.999Z"))).toBe(at("2026-11-20T06:30:00Z"));
  expect(findNext(DAILY, at("2026-11-20T06:30:00Z"))).toBe(at("2026-11-21T06:30:00Z"));
  expect(findNext(HOOK, 0)).toBeNull();
});

test("agents.resources.trigger three fires are shown, of which the stored one is the first, be it overdue", () => {
  const next_fire_at = at("2026-11-20T06:30:00Z");
  expect(listUpcoming({ ...DAILY, next_fire_at })).toEqual(
    ["20", "21", "22"].map((day) => at(`2026-11-${day}T06:30:00Z`)),
  );
  expect(listUpcoming({ ...DAILY, next_fire_at: null })).toEqual([]);
  expect(listUpcoming({ ...HOOK, next_fire_at: null })).toEqual([]);
});

test("what an installation cannot read, which knew other zones, has one fire at most", () => {
  for (const timing of [
    { ...DAILY, time_zone: "Mars/Olympus" },
    { ...DAILY, cron: "@daily" },
  ]) {
    expect(findNext(timing, 0)).toBeNull();
    expect(listUpcoming({ ...timing, next_fire_at: 60_000 })).toEqual([60_000]);
  }
});
