// Tests the cost of a completion: whole micro-SAR, rounded once.
import { expect, test } from "bun:test";
import { costOf } from "../../src/models/model.ts";

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
