// Tests the due, the next and the future fires of a trigger.
import { expect, test } from "bun:test";
import { computeDue, findNext, listUpcoming, recomputeDue } from "../../src/triggers/due.ts";
import { listOverdue } from "../../src/triggers/overdue.ts";

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

test("an instant fires up to a minute late, and counts as missed from then on", () => {
  const next_fire_at = at("2026-11-20T06:30:00Z");
  const trigger = { ...DAILY, next_fire_at, catch_up_seconds: null, updated_at: 0 };
  const missed = [60_000, 60_001].map((lateMs) => {
    const due = computeDue(trigger, next_fire_at + lateMs);
    return due.kind === "due" && [due.instant.isMissed, due.instant.missedCount];
  });
  expect(missed).toEqual([
    [false, 0],
    [true, 1],
  ]);
});

test("instants that have passed are listed with their number, until all of them are missed", async () => {
  const next_fire_at = at("2026-11-20T06:30:00Z");
  const row = { ...DAILY, id: "t-1", name: "t", catch_up_seconds: null, updated_at: 0 };
  const asked: unknown[] = [];
  const listTimed = async (...given: unknown[]) => {
    asked.push(given);
    return [{ ...row, next_fire_at }];
  };
  const store = { listTimed } as never;
  const list = async (now: number) =>
    (await listOverdue(store, now)).map(({ instants, fires }) => [instants, fires]);
  const DAY_MS = 86_400_000;
  expect(await list(next_fire_at - 1)).toEqual([]);
  expect(asked).toEqual([[{ next_fire_at: 0, id: "" }, 1_000]]);
  expect(await list(next_fire_at)).toEqual([[1, true]]);
  expect(await list(next_fire_at + DAY_MS)).toEqual([[2, true]]);
  expect(await list(next_fire_at + DAY_MS + 60_001)).toEqual([[2, false]]);
});

test("a clock that went back brings no instant from before the trigger's last change", () => {
  const now = at("2026-11-20T06:31:00Z");
  const since = at("2026-11-20T06:29:00Z");
  const next_fire_at = at("2026-11-22T06:30:00Z");
  const recompute = (updated_at: number) =>
    recomputeDue({ ...DAILY, next_fire_at, catch_up_seconds: null, updated_at }, since, now);
  const today = at("2026-11-20T06:30:00Z");
  const tomorrow = at("2026-11-21T06:30:00Z");
  // A change that lies ahead was dated by the wrong clock.
  const changes = [since, now - 1, now, now + 1];
  expect(changes.map(recompute)).toEqual([today, tomorrow, tomorrow, today]);
});
