// Tests the next fire of a trigger, and the list of future fires.
import { expect, test } from "bun:test";
import { findNext, listUpcoming } from "../../src/triggers/due.ts";

const at = (text: string) => Date.parse(text);
const DAILY = { cron: "30 9 * * *", time_zone: "Asia/Riyadh" };
const HOOK = { cron: null, time_zone: null };

test("agents.resources.trigger the next fire is after the given instant, by the zone's clocks", () => {
  expect(findNext(DAILY, at("2026-11-20T06:29:59.999Z"))).toBe(at("2026-11-20T06:30:00Z"));
  expect(findNext(DAILY, at("2026-11-20T06:30:00Z"))).toBe(at("2026-11-21T06:30:00Z"));
  expect(findNext(HOOK, 0)).toBeNull();
});

test("agents.resources.trigger three fires are listed, the first of which is the stored one, even if it is overdue", () => {
  const next_fire_at = at("2026-11-20T06:30:00Z");
  expect(listUpcoming({ ...DAILY, next_fire_at })).toEqual(
    ["20", "21", "22"].map((day) => at(`2026-11-${day}T06:30:00Z`)),
  );
  expect(listUpcoming({ ...DAILY, next_fire_at: null })).toEqual([]);
  expect(listUpcoming({ ...HOOK, next_fire_at: null })).toEqual([]);
});

test("a schedule in a zone unknown to this installation has one fire at most", () => {
  for (const timing of [
    { ...DAILY, time_zone: "Mars/Olympus" },
    { ...DAILY, cron: "@daily" },
  ]) {
    expect(findNext(timing, 0)).toBeNull();
    expect(listUpcoming({ ...timing, next_fire_at: 60_000 })).toEqual([60_000]);
  }
});
