// The calculator: exact decimals, its grammar, and bounded time for any text.
import { describe, expect, test } from "bun:test";
import { calculate } from "../../../../src/agents/tools/calculator/calculate.ts";

const fill = (unit: string) => unit.repeat(Math.floor(1_000 / unit.length));

test.each([
  ["0.1 + 0.2", "0.3"],
  ["1/3", `0.${"3".repeat(64)}`],
  ["1/3*3", "1"],
  ["sqrt(2)^2", "2"],
  ["999999999999999 * 1.15", "1149999999999998.85"],
  [
    "123456789012345678901234567890 * 987654321098765432109876543210",
    "121932631137021795226185032733622923332237463801111263526900",
  ],
  ["-2^2", "-4"],
  ["2^-1", "0.5"],
  ["2^3^2", "512"],
  ["2**10", "1024"],
  ["10 - 4 - 3", "3"],
  ["2 + 3 * 4", "14"],
  ["(2 + 3) * 4", "20"],
  ["--3", "3"],
  ["(-2)^2", "4"],
  ["2 * -3^2", "-18"],
  ["--2^-1!", "0.5"],
  ["-3!", "-6"],
  ["( 3 ) !", "6"],
  ["5!", "120"],
  ["1000!", `4.${"023872600770937735437024339230039857193748642107146325437999104"}e+2567`],
  ["cbrt(-8)", "-2"],
  ["round(2.345, 2)", "2.35"],
  ["round(2.345, 64)", "2.345"],
  ["mod(-1, 3)", "2"],
  ["mean(1, 2, 6)", "3"],
  ["MAX(1, 2) + min(1, 2) + sum(1, 2)", "6"],
  ["ln(e)", "1"],
  ["log10(1000) + log2(8) + log(8, 2)", "9"],
  ["sin(pi)", "0"],
  ["tan(π/4)", "1"],
  ["6 × 7 − 2 ÷ 2", "41"],
  ["٣ + ٤٫٥", "7.5"],
  ["۳ + ۴٫۵", "7.5"],
  ["1e3", "1000"],
  ["1e9999", "1e+9999"],
  ["0e-99999999999", "0"],
])("%s is %s", (text, value) => {
  expect(calculate(text)).toEqual({ ok: true, text: value });
});

describe("an ambiguous expression is refused with a question", () => {
  test.each([
    ["50 + 10%", "per cent"],
    ["5 % 3", "mod(a, b)"],
    ["log(100)", "ln(x), log10(x) or log(x, base)"],
    ["1,000 + 1", "thousands separators"],
    ["max(1,000)", "1,000 is written 1000"],
    ["3!!", "write brackets"],
    ["2 pi", "An operator is expected"],
  ])("%s", (text, why) => {
    const { ok, text: said } = calculate(text);
    expect(ok).toBe(false);
    expect(said).toContain(why);
  });
});

describe("text that is not arithmetic is refused", () => {
  test.each([
    ...["", " ", "x", "a = 1", "f(x) = x", "f(1)", "1 +", "(1", "1)", "sin", "abs()", "abs(1, 2)"],
    ...["a.b", "a[0]", "[1, 2]", "{}", '"text"', "`x`", "1; 2", "1 > 2", "1 ? 2 : 3", "import(1)"],
    ...["constructor", "constructor(1)", "__proto__", "toString()", "hasOwnProperty(1)", "this"],
    ...["process.exit(1)", "evaluate(1)", "parse(1)", "5 cm", "1 to 2", "1..2", "1e", "0x10", "∞"],
    ...["(,1)", ",1", "1;", "(1,)", "(1, 2)", "max(1,)", "max(1 2)", "max(,1)", ".", ".e1", "()"],
    ...["true", "null", "1 ? 2 : 3", "sin?.(1)", "(sin)(1)", "(1)(2)", "a.b(1)", "'1'", "_", "$"],
    ...["😀", "~1", "!1", "1 && 1", "1 ?? 1", "1 | 1", "1 << 1", "-", "2 ^", "x => 1", "/1/"],
  ])("%j", (text) => {
    expect(calculate(text)).toMatchObject({ ok: false });
  });
});

describe("an undefined expression has no value", () => {
  test.each([
    ["1/0", "Division by zero."],
    ["0^-1", "Division by zero."],
    ["mod(5, 0)", "Division by zero."],
    ["tan(pi/2)", "Division by zero."],
    ["sqrt(-1)", "The result is no real number."],
    ["(-8)^(1/3)", "The result is no real number."],
    ["asin(2)", "The result is no real number."],
    ["ln(0)", "A logarithm is of a number above zero."],
    ["log(2, 1)", "A logarithm's base is a number above zero, and not 1."],
    ["factorial(0.5)", "A factorial is of a whole number from 0 to 1000."],
    ["round(1, -1)", "round() takes a whole number of places from 0 to 64."],
  ])("%s", (text, why) => {
    expect(calculate(text)).toEqual({ ok: false, text: why });
  });
});

const QUARTER_TURN = "1.570796326794896619231321691639751442098584699687552910487472296";
describe("returns a value where the library would never finish", () => {
  test.each([
    ["atan(1e5000)", QUARTER_TURN],
    ["atan(-9.9e9999)", `-${QUARTER_TURN}`],
    ["atan(1e-9999)", "1e-9999"],
    ["acos(1e-9999)", QUARTER_TURN],
    ["asin(-1e-9999)", "-1e-9999"],
    ["cos(1e-9999)", "1"],
    ["sin(1e-9999)", "1e-9999"],
    ["tan(1e-9999)", "1e-9999"],
    // Evaluating each of 62 levels twice would never finish.
    [`${"1^".repeat(61)}1`, "1"],
    [`${"pow(1,".repeat(50)}1${")".repeat(50)}`, "1"],
    // The longest, the deepest and the largest that are taken.
    [`${"1+".repeat(499)}10`, "509"],
    [`${"-".repeat(63)}1`, "-1"],
    [`${"(".repeat(63)}1${")".repeat(63)}`, "1"],
    [`${"1^".repeat(63)}1`, "1"],
    [`${"9".repeat(80)} - ${"9".repeat(80)}`, "0"],
    ["2^1e-9999", "1"],
    ["(1+1e-79)^1e79", "2.718281828459045235360287471352662497757247093699959574966967628"],
  ])("%.40s", (text, value) => {
    expect(calculate(text)).toEqual({ ok: true, text: value });
  });

  test.each([
    ["asin", "1.0000000000000000000000001e-45", "9.9e-46"],
    ["atan", "1.0000000000000000000000001e-45", "9.9e-46"],
    ["sin", "1.0000000000000000000000001e-45", "9.9e-46"],
    ["cos", "1.1e-45", "9.9e-46"],
    ["atan", "9.9e89", "1e90"],
  ])("%s is continuous where computation meets the known limit", (name, computed, known) => {
    const { text } = calculate(`${name}(${computed}) - ${name}(${known})`);
    const [difference, apart] = [Number(text), Math.abs(Number(computed) - Number(known))];
    expect(Math.abs(difference)).toBeLessThanOrEqual(apart);
  });
});

describe("no expression runs long or grows", () => {
  test.each([
    ["9^9^9^9", "A number is larger than 1e9999."],
    ["9^9^9", "A number is larger than 1e9999."],
    ["1e9999 * 10", "A number is larger than 1e9999."],
    ["1e99999999999", "A number is larger than 1e9999."],
    ["exp(1e9)", "A number is larger than 1e9999."],
    ["exp(-1e9)", "A number is nearer to zero than 1e-9999."],
    ["1e-9999 / 10", "A number is nearer to zero than 1e-9999."],
    ["10^-20000", "A number is nearer to zero than 1e-9999."],
    ["factorial(1e9)", "A factorial is of a whole number from 0 to 1000."],
    ["sin(1e31)", "An angle is in radians, and at most 1e30."],
    [`${"9".repeat(81)} + 1`, "A number has at most 80 digits."],
    ["1".repeat(1_001), "A calculation has at most 1000 characters."],
    [`${"-".repeat(64)}1`, "At most 64 terms may stand inside each other."],
    [fill("("), "At most 64 terms may stand inside each other."],
    [fill("-"), "At most 64 terms may stand inside each other."],
    [`${fill("2^").slice(0, 998)}1`, "At most 64 terms may stand inside each other."],
    [fill("ln("), "At most 64 terms may stand inside each other."],
  ])("%.40s", (text, why) => {
    expect(calculate(text)).toEqual({ ok: false, text: why });
  });

  test("only a few of the slow functions may be called", () => {
    const calls = (count: number) => Array.from({ length: count }, () => "asin(.9)").join("+");
    expect(calculate(calls(16)).ok).toBe(true);
    expect(calculate(calls(17)).text).toStartWith("At most 16 of these may be called:");
    expect(calculate(`max(1, -${calls(8)}, (${calls(9)})!^2)`).ok).toBe(false);
  });

  test("powers computed by logarithms count as slow, whole powers do not", () => {
    const sum = (term: string, count: number) =>
      Array.from({ length: count }, () => term).join("+");
    for (const term of ["e^e", "pow(7,.3)", "2^(1/2)", "1^1e16", "2^-0.5", "3^ln(2)"]) {
      const { ok, text } = calculate(sum(term, 17));
      expect([ok, text]).toEqual([false, expect.stringMatching(/^At most 16 of .* broken powers/)]);
    }
    for (const term of ["1.05^(12*30)", "pow(2,-3)", "2^3^2", "7/3", "sqrt(2)"]) {
      expect(calculate(sum(term, 50)).ok).toBe(true);
    }
  });

  test("evaluates a text full of large factorials, powers and remainders", () => {
    for (const text of [fill("999!+"), fill("1.1^9e4+"), fill("mod(9e9999,7e-9999)+")]) {
      expect(calculate(text.slice(0, text.lastIndexOf("+"))).ok).toBe(true);
    }
  });
});

test("a fault quotes little of the text, in whole characters", () => {
  const { text } = calculate(`1 ${"🐪".repeat(400)}`);
  expect(text).toBe(`An operator is expected, before \`${"🐪".repeat(10)}…\`.`);
});
