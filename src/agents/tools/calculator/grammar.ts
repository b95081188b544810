// The grammar of the calculator: from a text to a tree in which nothing but arithmetic can stand.

import jsep from "jsep";
import { shorten } from "../../../platform/text.ts";

/** What a calculation is made of; a tree has no other nodes, so nothing else can be evaluated. */
export type Term =
  | { kind: "number"; text: string }
  | { kind: "constant"; name: string }
  | { kind: "negation"; of: Term }
  | { kind: "factorial"; of: Term }
  | { kind: "operation"; sign: Sign; left: Term; right: Term }
  | { kind: "call"; name: string; terms: Term[] };

export type Sign = "+" | "-" | "*" | "/" | "^";

/** What is wrong with a calculation, in a sentence for whoever wrote it. */
export class CalculationFault extends Error {}

const CHARACTERS_MAX = 1_000;
const QUOTED_CHARACTERS_MAX = 20;
/** Brackets, signs and powers inside each other; real calculations have a handful. */
const DEPTH_MAX = 64;
/** How tightly an operator binds, from the left; a power binds from the right. */
const BINDING: Readonly<Record<Sign, number>> = { "+": 1, "-": 1, "*": 2, "/": 2, "^": 3 };

const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** The library passes over these, as if nothing stood there. */
const SEPARATOR = /;|(?:^|\() *,|, *(?:,|\))/;
const NAME = /^[A-Za-z][A-Za-z0-9]{0,15}$/;

/** What people and models write for the same sign; Arabic digits count like the others. */
const ALIKE: readonly [RegExp, string | ((found: string) => string)][] = [
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

/** The tree of a calculation; throws a `CalculationFault` where the text is none. */
export function parseCalculation(text: string): Term {
  if (text.length > CHARACTERS_MAX) {
    throw new CalculationFault(`A calculation has at most ${CHARACTERS_MAX} characters.`);
  }
  let plain = text;
  for (const [found, written] of ALIKE) plain = plain.replace(found, written as string);
  const separator = plain.search(SEPARATOR);
  if (separator !== -1) throw blame("A number is expected", plain, separator);
  return readTerm(parse(plain), 1);
}

function parse(text: string): Expression {
  try {
    return jsep(text);
  } catch (fault) {
    const { index, description } = fault as { index?: unknown; description?: unknown };
    if (typeof index !== "number" || typeof description !== "string") throw fault;
    const isMissing = description.startsWith("Variable names");
    throw blame(isMissing ? "An operator is expected" : "A number is expected", text, index);
  }
}

type Expression = jsep.Expression;
/** The parser in the middle of a text; `depth`: how many terms are open around it. */
type Reader = jsep.HookScope & { depth?: number };

/** Brackets leave a mark: -2^2 is -4, and (-2)^2 is 4. */
interface Group extends Expression {
  type: "Group";
  of: Expression;
}
interface Factorial extends Expression {
  type: "Factorial";
  of: Expression;
}
type Node = jsep.CoreExpression | Group | Factorial;

/** The parser is this house's alone, and knows nothing of JavaScript but numbers and names. */
jsep.removeAllUnaryOps();
jsep.removeAllBinaryOps();
jsep.removeAllLiterals();
for (const sign of ["-", "+"]) jsep.addUnaryOp(sign);
for (const [sign, binding] of Object.entries(BINDING)) {
  jsep.addBinaryOp(sign, binding, sign === "^");
}
jsep.hooks.add("gobble-token", function beginTerm(this: Reader, env) {
  this.depth = (this.depth ?? 0) + 1;
  requireShallow(this.depth);
  // It takes numbers past the hook below, and a factorial is of a number most of the time.
  if (/[0-9.]/.test(this.char)) env.node = this.gobbleNumericLiteral();
  if (this.char !== "(" || env.node) return;
  const of = this.gobbleGroup();
  if (!of) throw blame("A number is expected", this.expr, this.index - 1);
  env.node = { type: "Group", of };
});
jsep.hooks.add("after-token", function endTerm(this: Reader, env) {
  this.depth!--;
  if (!env.node) return;
  this.gobbleSpaces();
  if (this.char !== "!") return;
  this.index++;
  this.gobbleSpaces();
  if (this.char === "!") throw blame("`!!` is not used: write brackets", this.expr, this.index);
  env.node = { type: "Factorial", of: env.node };
});
// In front of what the library offers there: no calculation goes on with a question mark.
jsep.hooks.add("after-expression", requireEnd, true);

/** What is left behind a whole expression; the library would begin another one. */
function requireEnd(this: Reader, { node }: { node?: Expression }): void {
  if (!node) return;
  const { char, expr, index } = this;
  // It means two things, and a guess would give wrong numbers without a word.
  const says = "`%` is not used: write `/ 100` for per cent, or mod(a, b)";
  if (char === "%") throw blame(says, expr, index);
  if (this.depth) {
    if (char === ")" || char === ",") return;
    throw blame("`)` or an operator is expected", expr, index);
  }
  if (char === ",") throw blame("Numbers are written without thousands separators", expr, index);
  if (char !== "") throw blame("An operator is expected", expr, index);
}

/** The list of what may stand in a calculation. */
function readTerm(expression: Expression, depth: number): Term {
  requireShallow(depth);
  const node = expression as Node;
  switch (node.type) {
    case "Literal":
      return readNumber(node);
    case "Identifier":
      return { kind: "constant", name: readName(node) };
    case "Group":
      return readTerm(node.of, depth + 1);
    case "Factorial":
      return { kind: "factorial", of: readTerm(node.of, depth + 1) };
    case "UnaryExpression":
      return readSigned(node, depth);
    case "BinaryExpression":
      return readOperation(node, depth);
    case "CallExpression":
      return readCall(node, depth);
    case "SequenceExpression":
      throw new CalculationFault("Numbers are written without thousands separators.");
    case "Compound":
      throw new CalculationFault("A number is expected.");
    default:
      throw new CalculationFault("Only numbers, operators and functions can be calculated.");
  }
}

/** As it was written: what the library took for its value is a rounded one. */
function readNumber({ raw, value }: jsep.Literal): Term {
  if (typeof value !== "number" || !NUMBER.test(raw)) {
    throw new CalculationFault(`${shorten(raw, QUOTED_CHARACTERS_MAX)} is no number.`);
  }
  // As in 1,000 inside a call, where the comma would part two numbers.
  if (/^0\d/.test(raw)) {
    throw new CalculationFault(`${raw} begins with a needless zero; 1,000 is written 1000.`);
  }
  return { kind: "number", text: raw };
}

function readName({ name }: jsep.Identifier): string {
  if (NAME.test(name)) return name.toLowerCase();
  throw new CalculationFault(`There is no ${shorten(name, QUOTED_CHARACTERS_MAX)}.`);
}

/** A sign binds less than a power: the library has it the other way round. */
function readSigned({ operator, argument }: jsep.UnaryExpression, depth: number): Term {
  const of = readTerm(argument, depth + 1);
  return operator === "-" ? { kind: "negation", of } : of;
}

function readOperation({ operator, left, right }: jsep.BinaryExpression, depth: number): Term {
  const sign = operator as Sign;
  if (sign === "^" && left.type === "UnaryExpression") {
    const { argument, ...signed } = left as jsep.UnaryExpression;
    const power = { type: "BinaryExpression", operator, left: argument, right };
    return readSigned({ ...signed, argument: power }, depth);
  }
  const [of, by] = [readTerm(left, depth), readTerm(right, depth + +(sign === "^"))];
  return { kind: "operation", sign, left: of, right: by };
}

function readCall(node: jsep.CallExpression, depth: number): Term {
  if (node.callee.type !== "Identifier" || node.optional) {
    throw new CalculationFault("Only functions by their names can be called.");
  }
  const name = readName(node.callee as jsep.Identifier);
  const terms = node.arguments.map((term) => readTerm(term, depth + 1));
  return { kind: "call", name, terms };
}

function requireShallow(depth: number): void {
  if (depth <= DEPTH_MAX) return;
  throw new CalculationFault(`At most ${DEPTH_MAX} terms may stand inside each other.`);
}

function blame(what: string, text: string, at: number): CalculationFault {
  const rest = text.slice(at);
  const place = rest === "" ? "at the end" : `before \`${shorten(rest, QUOTED_CHARACTERS_MAX)}\``;
  return new CalculationFault(`${what}, ${place}.`);
}
