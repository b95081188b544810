// The tool `calculator`: exact decimals, from a grammar of its own that evaluates no code.
import { type Static, Type } from "@sinclair/typebox";
import type { Compute } from "../../../compute/index.ts";
import type { CalculationResult } from "../calculator/calculate.ts";
import { CALCULATION, UNCOMPUTED } from "../compute-tasks.ts";
import { type BuiltinTool, failure, success, type ToolResult, type ToolUse } from "../contract.ts";

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

export function createCalculator(compute: Compute): BuiltinTool {
  return {
    name: "calculator",
    description:
      "Calculates with exact decimals, to 64 significant digits. Use it for every sum, price, " +
      'percentage and conversion instead of reckoning yourself. Example: "1250 * 15 / 100".',
    risk: "read",
    revision: 1,
    external_content: false,
    parameters: Parameters,
    timeout_ms: TIMEOUT_MS,
    isFree: true,
    run: (use) => runCalculation(compute, use),
  };
}

/** Pattern of short plain arithmetic, which takes less time than crossing to a Worker. */
const PLAIN = /^[\d\s.+*/()-]{1,200}$/;

async function runCalculation(compute: Compute, use: ToolUse): Promise<ToolResult> {
  const { expression } = use.arguments as Static<typeof Parameters>;
  if (PLAIN.test(expression)) {
    // Loaded on demand: most processes never calculate.
    const { calculate } = await import("../calculator/calculate.ts");
    return toResult(calculate(expression));
  }
  const { account_id: account, signal } = use;
  const computed = await compute.run(CALCULATION, expression, { account, signal });
  if (computed.ok) return toResult(computed.value);
  return failure(`The calculation ${UNCOMPUTED[computed.reason]}.`);
}

function toResult({ ok, text }: CalculationResult): ToolResult {
  return ok ? success(text) : failure(text);
}
