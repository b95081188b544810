// Computes the contrast of the console's colours from its style sheet, in both themes.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

const SHEET = join(import.meta.dir, "../../src/console/client/console.css");
/** WCAG 2.2: text, and shapes and borders that carry a meaning. */
const TEXT_MIN = 4.5;
const SHAPE_MIN = 3;

const css = await Bun.file(SHEET).text();
const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(
    ([, name, light, dark]) => [name!, { light: light!, dark: dark! }],
  ),
);

const colour = (name: string, theme: Theme): string => {
  const found = tokens.get(name)?.[theme];
  if (!found) throw new Error(`there is no token --${name}`);
  return found;
};

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

/** The lowest contrast of a colour on surfaces, to two decimals. */
function lowest(name: string, surfaces: readonly string[], theme: Theme): number {
  const all = surfaces.map((on) => contrast(colour(name, theme), colour(on, theme)));
  return Math.floor(Math.min(...all) * 100) / 100;
}

const SURFACES = ["paper", "ground", "hover", "select"];

/** Tokens with their surfaces and minimum; the last two are what the design computed. */
type ContrastRow = [
  name: string,
  on: readonly string[],
  minimum: number,
  light: number,
  dark: number,
];

const ROWS: readonly ContrastRow[] = [
  ["ink", SURFACES, TEXT_MIN, 15.25, 12.4],
  ["ink-2", SURFACES, TEXT_MIN, 6.77, 6.39],
  ["ink-3", SURFACES, TEXT_MIN, 4.82, 4.72],
  ["accent", SURFACES, TEXT_MIN, 6.3, 7.15],
  ["ok", SURFACES, TEXT_MIN, 4.98, 7.13],
  ["warn", SURFACES, TEXT_MIN, 5.01, 7.45],
  ["bad", SURFACES, TEXT_MIN, 5.8, 6.49],
  ["over", SURFACES, TEXT_MIN, 6.52, 6.94],
  ["on-accent", ["accent"], TEXT_MIN, 7.1, 8.61],
  ["ink", ["mark"], TEXT_MIN, 13.65, 7.88],
  ["control", SURFACES, SHAPE_MIN, 3.12, 3.01],
  ["bars", SURFACES, SHAPE_MIN, 3.39, 4.41],
];

/** Words in the soft boxes, and the pressed chips and new rows on the soft accent. */
const BOXES: readonly [name: string, on: string][] = [
  ["warn", "warn-soft"],
  ["bad", "bad-soft"],
  ["ok", "ok-soft"],
  ["ink", "warn-soft"],
  ["ink", "bad-soft"],
  ["ink", "ok-soft"],
  ["ink-2", "warn-soft"],
  ["ink-2", "bad-soft"],
  ["ink-2", "ok-soft"],
  ["accent", "accent-soft"],
  ["ink", "accent-soft"],
];

describe.each(THEMES)("in the %s theme", (theme) => {
  for (const [name, on, minimum, light, dark] of ROWS) {
    test(`--${name} on ${on.join(", ")} has ${minimum} at least, as designed`, () => {
      const found = lowest(name, on, theme);
      expect(found).toBeGreaterThanOrEqual(minimum);
      expect(found).toBeCloseTo(theme === "light" ? light : dark, 1);
    });
  }

  for (const [name, on] of BOXES) {
    test(`--${name} can be read in a box of --${on}`, () => {
      expect(lowest(name, [on], theme)).toBeGreaterThanOrEqual(TEXT_MIN);
    });
  }

  for (const name of ["s1", "s2", "s3", "s4", "s5", "s6"]) {
    test(`--${name} of a stack can be told from the paper`, () => {
      expect(lowest(name, ["paper"], theme)).toBeGreaterThanOrEqual(SHAPE_MIN);
    });
  }
});

test("every colour of the design is a token", () => {
  expect([...tokens.keys()]).toEqual(expect.arrayContaining(ROWS.map(([name]) => name)));
});
