// The grammar of calculations: jsep with nothing of JavaScript but numbers, names and calls.
import jsep from "jsep";
import { shorten } from "../../../platform/text.ts";

const CHARACTERS_MAX = 1_000;
/** Maximum depth of brackets, signs and powers inside each other. */
const DEPTH_MAX = 64;
const QUOTE_CHARACTERS_MAX = 20;
const NO_NUMBER = "A number is expected";
const NO_OPERATOR = "An operator is expected";

/** An invalid calculation; its message is a sentence for the caller. */
export class CalculationError extends Error {}

export function fail(message: string): never {
  throw new CalculationError(message);
}

const NOTATIONS: readonly [RegExp, string | ((found: string) => string)][] = [
  [/\s/g, " "],
  [/\*\*/g, "^"],
  [/[×·∙⋅]/g, "*"],
  [/÷/g, "/"],
  [/[−–]/g, "-"],
  [/π/g, "pi"],
  [/٫/g, "."],
  [/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660)],
  [/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0)],
];

/** Notations with two meanings, or that jsep skips silently. */
const REFUSED: readonly [RegExp, string][] = [
  [/%/, "`%` is not used: write `/ 100` for per cent, or mod(a, b)"],
  [/! *!/, "`!!` is not used: write brackets"],
  [/;|(?:^|\() *,|, *(?:,|\))/, NO_NUMBER],
];

export function parseCalculation(text: string): jsep.Expression {
  if (text.length > CHARACTERS_MAX) fail(`A calculation has at most ${CHARACTERS_MAX} characters.`);
  let plain = text;
  for (const [found, sign] of NOTATIONS) plain = plain.replace(found, sign as string);
  for (const [pattern, problem] of REFUSED) {
    const at = plain.search(pattern);
    if (at !== -1) throw syntaxError(problem, plain, at);
  }
  try {
    return jsep(plain);
  } catch (error) {
    const { index, description } = error as { index?: unknown; description?: unknown };
    if (typeof index !== "number" || typeof description !== "string") throw error;
    const problem = description.startsWith("Variable names") ? NO_OPERATOR : NO_NUMBER;
    throw syntaxError(problem, plain, index);
  }
}

type Parser = jsep.HookScope & { depth?: number };
/** A bracket around one term. */
export interface Group extends jsep.Expression {
  type: "Group";
  of: jsep.Expression;
}
const FACTORIAL = { type: "Identifier", name: "factorial" };

/** Binding strength; a power binds from the right. */
const PRECEDENCE = { "+": 1, "-": 1, "*": 2, "/": 2, "^": 3 };

// jsep's configuration is global; nothing else uses it. Only arithmetic stays.
jsep.removeAllUnaryOps();
jsep.removeAllBinaryOps();
jsep.removeAllLiterals();
for (const sign of ["-", "+"]) jsep.addUnaryOp(sign);
for (const [sign, strength] of Object.entries(PRECEDENCE)) {
  jsep.addBinaryOp(sign, strength, sign === "^");
}
jsep.hooks.add("gobble-token", function beginTerm(this: Parser, env) {
  this.depth = (this.depth ?? 0) + 1;
  requireDepth(this.depth);
  // jsep runs no later hook for a number, and a factorial may follow it.
  if (/[0-9.]/.test(this.char)) env.node = this.gobbleNumericLiteral();
  if (this.char !== "(" || env.node) return;
  const of = this.gobbleGroup();
  if (!of) throw syntaxError(NO_NUMBER, this.expr, this.index - 1);
  // Marks brackets: -2^2 is -4, and (-2)^2 is 4.
  env.node = { type: "Group", of };
});
jsep.hooks.add("after-token", function endTerm(this: Parser, env) {
  this.depth!--;
  if (!env.node) return;
  this.gobbleSpaces();
  if (this.char !== "!") return;
  this.index++;
  this.gobbleSpaces();
  env.node = { type: "CallExpression", callee: FACTORIAL, arguments: [env.node] };
});
// `true` puts the hook before jsep's own ternary, and no second expression may follow.
jsep.hooks.add(
  "after-expression",
  function requireEnd(this: Parser, { node }: { node?: jsep.Expression }) {
    const { char, expr, index } = this;
    if (!node || char === "") return;
    if (this.depth && (char === ")" || char === ",")) return;
    if (this.depth) throw syntaxError("`)` or an operator is expected", expr, index);
    const isComma = char === ",";
    const problem = isComma ? "Numbers are written without thousands separators" : NO_OPERATOR;
    throw syntaxError(problem, expr, index);
  },
  true,
);

export function requireDepth(depth: number): void {
  if (depth > DEPTH_MAX) fail(`At most ${DEPTH_MAX} terms may stand inside each other.`);
}

function syntaxError(problem: string, text: string, at: number): CalculationError {
  const rest = text.slice(at);
  const place = rest === "" ? "at the end" : `before \`${quote(rest)}\``;
  return new CalculationError(`${problem}, ${place}.`);
}

export function quote(text: string): string {
  return shorten(text, QUOTE_CHARACTERS_MAX);
}
