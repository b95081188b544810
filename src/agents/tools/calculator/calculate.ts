// Evaluates calculations in exact decimals, bounded in digits, size and time.
import { Decimal as SharedDecimal } from "decimal.js";
import type jsep from "jsep";
import {
  CalculationError,
  fail,
  type Group,
  parseCalculation,
  quote,
  requireDepth,
} from "./grammar.ts";

const DIGITS = 64;
/** Number of digits of intermediate values: 1/3*3 is 1, and sqrt(2)^2 is 2. */
const WORKING_DIGITS = 80;
/** Numbers reach from 1e-9999 to 1e9999. */
const EXPONENT_MAX = 9_999;
const FACTORIAL_MAX = 1_000;
/** Maximum angle; reducing a larger one takes long and has no exact digits left. */
const ANGLE_MAX = "1e30";
/** Minimum sine; smaller ones count as zero, because pi has only the working digits. */
const SINE_MIN = "1e-70";
const PLACES_MAX = 64;
/** Minimum argument; below it, its square is zero and decimal.js loops without end. */
const TINY = "1e-45";
/** Maximum argument of the arc tangent; above it, decimal.js loops, and the result is pi/2. */
const TANGENT_MAX = "1e90";
/** Maximum calls of logarithms, angles and the like, which take up to 10 ms each. */
const SLOW_CALLS_MAX = 16;

/** A configuration of our own, which no other user of the package shares. */
const Decimal = SharedDecimal.clone({
  precision: WORKING_DIGITS,
  rounding: SharedDecimal.ROUND_HALF_UP,
  // The remainder has the sign of the divisor.
  modulo: SharedDecimal.ROUND_FLOOR,
  maxE: EXPONENT_MAX,
  minE: -EXPONENT_MAX,
  toExpPos: DIGITS,
  toExpNeg: -20,
});
type Decimal = SharedDecimal;

export interface CalculationResult {
  ok: boolean;
  text: string;
}

export function calculate(text: string): CalculationResult {
  try {
    const value = new Evaluator().evaluate(parseCalculation(text), 1);
    return { ok: true, text: value.toSignificantDigits(DIGITS).toString() };
  } catch (error) {
    if (error instanceof CalculationError) return { ok: false, text: error.message };
    throw error;
  }
}

/** Evaluates each term once, innermost first, and bounds every intermediate value. */
class Evaluator {
  #slowCalls = 0;

  evaluate(expression: jsep.Expression, depth: number): Decimal {
    requireDepth(depth);
    const node = expression as jsep.CoreExpression | Group;
    switch (node.type) {
      case "Literal":
        return readNumber(node);
      case "Identifier":
        return readConstant(node);
      case "Group":
        return this.evaluate(node.of, depth + 1);
      case "UnaryExpression": {
        const value = this.evaluate(node.argument, depth + 1);
        return node.operator === "-" ? value.negated() : value;
      }
      case "BinaryExpression":
        return this.#operate(node, depth);
      case "CallExpression":
        return this.#call(node, depth);
      case "SequenceExpression":
        return fail("Numbers are written without thousands separators.");
      default:
        return fail("Only numbers, operators and functions can be calculated.");
    }
  }

  #operate(node: jsep.BinaryExpression, depth: number): Decimal {
    const { operator, left, right } = node;
    const isPower = operator === "^";
    // jsep binds a sign tighter than a power; here -2^2 is -(2^2).
    if (isPower && left.type === "UnaryExpression") {
      const unsigned = { ...node, left: left.argument as jsep.Expression };
      return this.evaluate({ ...left, argument: unsigned }, depth);
    }
    const values = [this.evaluate(left, depth), this.evaluate(right, depth + Number(isPower))];
    return this.#apply(OPERATORS[operator]!, values);
  }

  #call(node: jsep.CallExpression, depth: number): Decimal {
    if (node.callee.type !== "Identifier" || node.optional) {
      fail("Only functions by their names can be called.");
    }
    const name = readName(node.callee as jsep.Identifier);
    const run = FUNCTIONS.get(name);
    if (!run) fail(`There is no ${name}(). ${OFFER}`);
    requireArity(name, run.length, node.arguments.length);
    const values = node.arguments.map((term) => this.evaluate(term, depth + 1));
    return this.#apply(run, values, SLOW.includes(name));
  }

  #apply(run: MathFunction, values: Decimal[], isSlow = false): Decimal {
    if ((isSlow || (run === power && isBroken(values[1]!))) && ++this.#slowCalls > SLOW_CALLS_MAX) {
      fail(`At most ${SLOW_CALLS_MAX} of these may be called: ${SLOW.join(", ")}, broken powers.`);
    }
    return bound(run(...values));
  }
}

type MathFunction = (...values: Decimal[]) => Decimal;

const OPERATORS: Readonly<Record<string, MathFunction>> = {
  "+": (a, b) => a.plus(b),
  "-": (a, b) => a.minus(b),
  "*": (a, b) => bound(a.times(b), !a.isZero() && !b.isZero()),
  "/": divide,
  "^": power,
};

/** Functions by name in lower case; one without fixed parameters takes one value or more. */
const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map<string, MathFunction>([
  ["abs", (x) => x.abs()],
  ["acos", (x) => (isTiny(x) ? QUARTER_TURN : x.acos())],
  ["asin", (x) => (isTiny(x) ? x : x.asin())],
  ["atan", arcTangent],
  ["cbrt", (x) => x.cbrt()],
  ["ceil", (x) => x.ceil()],
  ["cos", cosine],
  ["exp", (x) => bound(x.exp(), true)],
  ["factorial", factorial],
  ["floor", (x) => x.floor()],
  ["ln", (x) => requirePositive(x).ln()],
  ["log", logarithm],
  ["log10", (x) => logarithm(x, new Decimal(10))],
  ["log2", (x) => logarithm(x, new Decimal(2))],
  ["max", (...values) => Decimal.max(...values)],
  ["mean", (...values) => divide(sum(...values), new Decimal(values.length))],
  ["min", (...values) => Decimal.min(...values)],
  ["mod", (a, b) => a.mod(requireDivisor(b))],
  ["pow", power],
  ["round", round],
  ["sin", sine],
  ["sqrt", (x) => x.sqrt()],
  ["sum", sum],
  ["tan", (x) => divide(sine(x), cosine(x))],
  ["trunc", (x) => x.trunc()],
]);

const SLOW = "acos asin atan cos exp ln log log10 log2 sin tan".split(" ");

const CONSTANTS: ReadonlyMap<string, Decimal> = new Map([
  ["pi", Decimal.acos(-1)],
  ["e", Decimal.exp(1)],
]);
const factorials = [new Decimal(1)];
const QUARTER_TURN = Decimal.acos(0);
const OFFER = `There are: ${[...FUNCTIONS.keys(), ...CONSTANTS.keys()].join(", ")}.`;

/** Reads the digits as written; jsep's own value is a rounded double. */
function readNumber({ raw }: jsep.Literal): Decimal {
  if (!/^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(raw)) fail(`${quote(raw)} is no number.`);
  // In max(1,000) the comma separates two numbers.
  if (/^0\d/.test(raw)) {
    fail(`${raw} begins with a needless zero; 1,000 is written 1000.`);
  }
  const number = bound(new Decimal(raw), /^[0.]*[1-9]/.test(raw));
  if (number.sd() <= WORKING_DIGITS) return number;
  fail(`A number has at most ${WORKING_DIGITS} digits.`);
}

function readName({ name }: jsep.Identifier): string {
  if (/^[A-Za-z][A-Za-z0-9]{0,15}$/.test(name)) return name.toLowerCase();
  fail(`There is no ${quote(name)}.`);
}

function readConstant(node: jsep.Identifier): Decimal {
  const name = readName(node);
  const constant = CONSTANTS.get(name);
  if (constant) return constant;
  if (FUNCTIONS.has(name)) fail(`${name} is followed by its brackets.`);
  fail(`There is no ${name}. ${OFFER}`);
}

function requireArity(name: string, parameters: number, count: number): void {
  const isVariadic = parameters === 0;
  if (isVariadic ? count > 0 : count === parameters) return;
  // `log(x)` means one of two functions, so it is refused.
  if (name === "log") fail("Write ln(x), log10(x) or log(x, base).");
  const wanted = isVariadic ? "1 or more" : parameters;
  fail(`${name}() takes ${wanted} in its brackets.`);
}

/** A nonzero value may not underflow to zero. */
function bound(value: Decimal, isNonzero = false): Decimal {
  if (value.isNaN()) fail("The result is no real number.");
  if (!value.isFinite() || value.e > EXPONENT_MAX) {
    fail(`A number is larger than 1e${EXPONENT_MAX}.`);
  }
  if (isNonzero && value.isZero()) fail(`A number is nearer to zero than 1e-${EXPONENT_MAX}.`);
  return value;
}

function requireDivisor(divisor: Decimal): Decimal {
  if (divisor.isZero()) fail("Division by zero.");
  return divisor;
}

function divide(dividend: Decimal, divisor: Decimal): Decimal {
  return bound(dividend.dividedBy(requireDivisor(divisor)), !dividend.isZero());
}

function sum(...values: Decimal[]): Decimal {
  return values.reduce((total, value) => bound(total.plus(value)));
}

/** decimal.js computes a power of any other exponent by logarithms. */
function isBroken(exponent: Decimal): boolean {
  return !exponent.isInteger() || exponent.abs().greaterThan(Number.MAX_SAFE_INTEGER);
}

function power(base: Decimal, exponent: Decimal): Decimal {
  if (exponent.isNegative()) requireDivisor(base);
  return bound(base.pow(exponent), !base.isZero());
}

/** Keeps computed factorials, so that a text full of them costs no more than one. */
function factorial(n: Decimal): Decimal {
  if (!n.isInteger() || n.isNegative() || n.greaterThan(FACTORIAL_MAX)) {
    fail(`A factorial is of a whole number from 0 to ${FACTORIAL_MAX}.`);
  }
  for (let next = factorials.length; next <= n.toNumber(); next++) {
    factorials.push(factorials[next - 1]!.times(next));
  }
  return factorials[n.toNumber()]!;
}

function requirePositive(x: Decimal): Decimal {
  if (!x.isPositive() || x.isZero()) fail("A logarithm is of a number above zero.");
  return x;
}

function logarithm(x: Decimal, base: Decimal): Decimal {
  requirePositive(x);
  if (!base.isPositive() || base.isZero() || base.equals(1)) {
    fail("A logarithm's base is a number above zero, and not 1.");
  }
  return x.log(base);
}

/** Sines, tangents and their inverses of tiny values equal their argument in all digits. */
function isTiny(x: Decimal): boolean {
  return x.abs().lessThan(TINY);
}

function sine(angle: Decimal): Decimal {
  return isTiny(angle) ? angle : measureTurn(angle, "sin");
}

function cosine(angle: Decimal): Decimal {
  return isTiny(angle) ? new Decimal(1) : measureTurn(angle, "cos");
}

function measureTurn(angle: Decimal, part: "sin" | "cos"): Decimal {
  if (angle.abs().greaterThan(ANGLE_MAX)) {
    fail(`An angle is in radians, and at most ${ANGLE_MAX}.`);
  }
  const value = angle[part]();
  return value.abs().lessThan(SINE_MIN) && angle.abs().greaterThan(1) ? new Decimal(0) : value;
}

function arcTangent(x: Decimal): Decimal {
  if (isTiny(x)) return x;
  if (x.abs().lessThan(TANGENT_MAX)) return x.atan();
  return x.isNegative() ? QUARTER_TURN.negated() : QUARTER_TURN;
}

function round(...[x, places = new Decimal(0), ...others]: Decimal[]): Decimal {
  if (others.length > 0) fail("round() takes 1 to 2 in its brackets.");
  if (!places.isInteger() || places.isNegative() || places.greaterThan(PLACES_MAX)) {
    fail(`round() takes a whole number of places from 0 to ${PLACES_MAX}.`);
  }
  return x!.toDecimalPlaces(places.toNumber());
}
