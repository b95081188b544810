import { expect, test } from "bun:test";
import { countOn, createSystemIds, writeBase62 } from "../../src/platform/ids.ts";

test("a token has the requested length, of base62 only, and never repeats", () => {
  const ids = createSystemIds();
  const tokens = Array.from({ length: 2_000 }, () => ids.token(24));
  expect(tokens.every((token) => /^[0-9A-Za-z]{24}$/.test(token))).toBe(true);
  expect(new Set(tokens).size).toBe(tokens.length);
});

test("every letter of a token is equally likely", () => {
  const counts = new Map<string, number>();
  const length = 620_000;
  for (const letter of createSystemIds().token(length)) {
    counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect(counts.size).toBe(62);
  // 10,000 each are expected, with a deviation of 99: six of them are one in a thousand million.
  for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(600);
});

test("a UUID has version 7 and ascends", () => {
  const ids = createSystemIds();
  const made = Array.from({ length: 100 }, () => ids.uuid());
  expect(made[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect([...made].sort()).toEqual(made);
});

test("ids derived from a fresh one are UUIDs after it, in order", () => {
  const first = "01920000-0000-7000-8000-0000000000fe";
  expect([0, 1, 2, 258].map((by) => countOn(first, by))).toEqual([
    first,
    "01920000-0000-7000-8000-0000000000ff",
    "01920000-0000-7000-8000-000000000100",
    "01920000-0000-7000-8000-000000000200",
  ]);
  expect(countOn("01920000-0000-7000-8000-ffffffffffff", 2)).toEndWith("-8000-000000000001");
});

test("a number in base62 is padded with zeros", () => {
  expect([0, 61, 62, 2 ** 32 - 1].map((number) => writeBase62(number, 6))).toEqual([
    "000000",
    "00000z",
    "000010",
    "4gfFC3",
  ]);
});
