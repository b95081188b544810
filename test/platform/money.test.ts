// Tests money as decimal text and as whole micro-SAR.
import { describe, expect, test } from "bun:test";
import { formatMoney, parseMoney } from "../../src/platform/money.ts";

describe("parseMoney", () => {
  test.each([
    ["1.20", 1_200_000],
    ["0", 0],
    ["0.000001", 1],
    ["0.1", 100_000],
    ["12", 12_000_000],
    ["4.35", 4_350_000],
    ["9007199254.740991", Number.MAX_SAFE_INTEGER],
  ])("%s is %d micro-SAR", (text, micro) => {
    expect(parseMoney(text)).toBe(micro);
  });

  test.each([
    "",
    " 1",
    "1 ",
    "1\n",
    "-1",
    "+1",
    "1.",
    ".5",
    "01",
    "1e3",
    "1,20",
    "1_000",
    "0x10",
    "1.0000001",
    "NaN",
    "Infinity",
    "١",
    "9007199254.740992",
    "9".repeat(10_000),
  ])("%j is no amount", (text) => {
    expect(() => parseMoney(text)).toThrow(
      new RangeError('must be an amount such as "1.20", with at most six decimals'),
    );
  });
});

describe("formatMoney", () => {
  test("all six decimals are always written", () => {
    expect(formatMoney(1_200_000)).toBe("1.200000");
    expect(formatMoney(0)).toBe("0.000000");
    expect(formatMoney(7)).toBe("0.000007");
    expect(formatMoney(Number.MAX_SAFE_INTEGER)).toBe("9007199254.740991");
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53])("%d is a bug, not an amount", (micro) => {
    expect(() => formatMoney(micro)).toThrow(RangeError);
  });

  test("formatted text parses to the same amount, at every size", () => {
    // Neighbours of powers of two and of ten, where a float would lose a micro.
    const amounts = Array.from({ length: 54 }, (_, power) => 2 ** power).concat(
      Array.from({ length: 16 }, (_, power) => 10 ** power),
    );
    for (let amount = 1, step = 0; step < 20_000; step++) {
      amount = (amount * 48_271) % 2_147_483_647;
      amounts.push(amount, amount * 4_194_303);
    }
    const around = amounts.flatMap((amount) => [amount - 1, amount, amount + 1]);
    for (const amount of around.filter(Number.isSafeInteger)) {
      expect(parseMoney(formatMoney(amount))).toBe(amount);
    }
  });
});
