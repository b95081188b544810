// Tests the cost of a completion: whole micro-SAR, rounded once.
import { expect, test } from "bun:test";
import { chooseOutputCap, costOf } from "../../src/models/model.ts";
import { defaultSettings } from "../../src/settings/index.ts";

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

test.each<[string, [number, number], [number, number], number]>([
  ["no tokens cost nothing", [0, 0], [1_000_000, 2_000_000], 0],
  ["a million tokens cost the price", [1_000_000, 0], [1_200_000, 7], 1_200_000],
  ["both kinds are added before they are rounded", [1, 1], [250_000, 250_000], 1],
  ["half a micro-SAR is rounded up", [1, 0], [500_000, 0], 1],
  ["less than half is rounded down", [1, 0], [499_999, 0], 0],
  ["a free model costs nothing", [8_192, 8_192], [0, 0], 0],
  ["half of a large amount is rounded up", [5, 0], [9_000_000_000_100_000, 0], 45_000_000_001],
  ["large amounts stay exact", [999_999_999, 1], [9_000_000_001, 500_000], 8_999_999_992_000],
])("%s", (_, [prompt_tokens, completion_tokens], [prompt, completion], cost) => {
  expect(costOf(usage(prompt_tokens, completion_tokens), { prompt, completion })).toBe(cost);
});

test("the cost equals that of arbitrary-precision integers", () => {
  let seed = 7;
  const draw = (max: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return Math.floor((seed / 2_147_483_647) * max);
  };
  for (let round = 0; round < 10_000; round++) {
    const [a, b, p, c] = [draw(10_000_000), draw(10_000_000), draw(1e11), draw(1e11)];
    const exact = (BigInt(a) * BigInt(p) + BigInt(b) * BigInt(c) + 500_000n) / 1_000_000n;
    expect(costOf(usage(a, b), { prompt: p, completion: c })).toBe(Number(exact));
  }
});

test("without a price, or beyond the largest number, there is no cost", () => {
  expect(costOf(usage(1, 1), null)).toBeNull();
  const price = { prompt: Number.MAX_SAFE_INTEGER, completion: 0 };
  expect(costOf(usage(1_000_000_000, 0), price)).toBeNull();
});

test.each<[asked: number | null, key: number | null, tokens: number, by: string]>([
  [null, null, 1_024, "default"],
  [1, null, 1, "request"],
  [4_000, null, 4_000, "request"],
  [4_001, null, 4_000, "model"],
  [null, 1_024, 1_024, "default"],
  [null, 1_023, 1_023, "key"],
  [4_001, 4_000, 4_000, "key"],
  [4_002, 4_001, 4_000, "model"],
])("a request of %p tokens by a key with %p gets %p of the %s", (asked, key, max_tokens, by) => {
  const settings = { ...defaultSettings().models[0]!, max_output_tokens: 4_000 };
  expect(chooseOutputCap(settings, key, asked)).toEqual({ max_tokens, by } as never);
  const large = { ...settings, max_output_tokens: 9_000 };
  expect(chooseOutputCap(large, null, 8_193)).toEqual({ max_tokens: 8_192, by: "service" });
});
