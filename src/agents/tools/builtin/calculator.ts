// The tool `calculator`: exact decimals, from a grammar of its own that evaluates no code.
import { type Static, Type } from "@sinclair/typebox";
import type { BuiltinTool } from "../contract.ts";
import { standInLine } from "../turns.ts";

const EXPRESSION_CHARACTERS_MAX = 1_000;
const TIMEOUT_MS = 5_000;

const Parameters = Type.Object(
  {
    expression: Type.String({
      minLength: 1,
      maxLength: EXPRESSION_CHARACTERS_MAX,
      description:
        "What to calculate, 1 to 1,000 characters: numbers, + - * / ^, n!, brackets, pi, e, and " +
        "abs, ceil, floor, trunc, round(x, places), sqrt, cbrt, pow(a, b), exp, ln, log10, log2, " +
        "log(x, base), sin, cos, tan, asin, acos, atan (radians), mod(a, b), factorial, min, " +
        "max, sum, mean. No thousands separators, no %, no variables.",
    }),
  },
  { additionalProperties: false },
);

export const calculator: BuiltinTool = {
  name: "calculator",
  title: "Calculator",
  description:
    "Calculates with exact decimals, to 64 significant digits. Use it for every sum, price, " +
    'percentage and conversion instead of reckoning yourself. Example: "1250 * 15 / 100".',
  risk: "read",
  revision: 1,
  external_content: false,
  parameters: Parameters,
  timeout_ms: TIMEOUT_MS,
  is_free: true,
  async run(use) {
    const { expression } = use.arguments as Static<typeof Parameters>;
    // Loaded at the first calculation: most starts never need it.
    const { readCalculation } = await import("../calculation/calculate.ts");
    const { is_slow, answer } = readCalculation(expression);
    if (is_slow) await standInLine();
    const { ok, text } = answer();
    return { outcome: ok ? "ok" : "error", content: text, external: false };
  },
};
