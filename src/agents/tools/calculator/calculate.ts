// The value of a calculation in exact decimals: bounded in digits, in size and in time.
import { Decimal as Decimals } from "decimal.js";
import { CalculationFault, parseCalculation, type Sign, type Term } from "./grammar.ts";

/** What is told. */
const DIGITS = 64;
/** What is reckoned with, so that 1/3*3 is 1 and sqrt(2)^2 is 2. */
const DIGITS_INSIDE = 80;
/** Numbers reach from 1e-9999 to 1e9999: nothing grows beyond, whatever stands in the tree. */
const EXPONENT_MAX = 9_999;
const FACTORIAL_MAX = 1_000;
/** Beyond it an angle says nothing any more, and its turns would be long to count. */
const ANGLE_MAX = "1e30";
/** A sine that is nearer to zero is zero: pi itself is known to so many digits only. */
const SINE_MIN = "1e-70";
const PLACES_MAX = 64;
/** Below it the library loops without end: the square of what it is given is zero. */
const TINY = "1e-45";
/** From here on it does so too, and the angle is a quarter turn in all digits. */
const TANGENT_MAX = "1e90";
/** Logarithms, angles and their like take up to ten milliseconds each. */
const SLOW_CALLS_MAX = 16;

/** Its own copy: what is set here holds for no other user of the package. */
const Decimal = Decimals.clone({
  precision: DIGITS_INSIDE,
  rounding: Decimals.ROUND_HALF_UP,
  // The remainder has the sign of what is divided by.
  modulo: Decimals.ROUND_FLOOR,
  maxE: EXPONENT_MAX,
  minE: -EXPONENT_MAX,
  toExpPos: DIGITS,
  toExpNeg: -20,
});
type Decimal = Decimals;

export interface CalculationResult {
  ok: boolean;
  text: string;
}

/** The value of a text such as "0.1 + 0.2", or a sentence on what is wrong with it. */
export function answerCalculation(text: string): CalculationResult {
  try {
    const value = evaluate(parseCalculation(text), { slowCalls: 0 });
    return { ok: true, text: value.toSignificantDigits(DIGITS).toString() };
  } catch (fault) {
    if (fault instanceof CalculationFault) return { ok: false, text: fault.message };
    throw fault;
  }
}

/** What a calculation has cost so far. */
interface Spent {
  slowCalls: number;
}

const SLOW: ReadonlySet<string> = new Set([
  ...["acos", "asin", "atan", "cos", "exp", "ln", "log", "log10", "log2", "sin", "tan"],
]);

function countSlowCall(spent: Spent): void {
  if (++spent.slowCalls <= SLOW_CALLS_MAX) return;
  const names = [...SLOW].join(", ");
  const says = `At most ${SLOW_CALLS_MAX} of these may be called: ${names}, broken powers.`;
  throw new CalculationFault(says);
}

/** An exponent that is no whole number, or beyond those: its power is made of logarithms. */
function isBroken(exponent: Decimal): boolean {
  return !exponent.isInteger() || exponent.abs().greaterThan(Number.MAX_SAFE_INTEGER);
}

/** Each term is evaluated once, those inside it before it. */
function evaluate(term: Term, spent: Spent): Decimal {
  switch (term.kind) {
    case "number":
      return readNumber(term.text);
    case "constant":
      return findConstant(term.name);
    case "negation":
      return evaluate(term.of, spent).negated();
    case "factorial":
      return bound(takeFactorial(evaluate(term.of, spent)));
    case "operation":
      return operate(term.sign, evaluate(term.left, spent), evaluate(term.right, spent), spent);
    case "call":
      return call(term.name, term.terms, spent);
  }
}

function readNumber(text: string): Decimal {
  const number = bound(new Decimal(text), /^[0.]*[1-9]/.test(text));
  // What is written would be rounded without a word, and is slow to take a sine of.
  if (number.sd() <= DIGITS_INSIDE) return number;
  throw new CalculationFault(`A number has at most ${DIGITS_INSIDE} digits.`);
}

function operate(sign: Sign, left: Decimal, right: Decimal, spent: Spent): Decimal {
  const isSomething = !left.isZero() && !right.isZero();
  switch (sign) {
    case "+":
      return bound(left.plus(right));
    case "-":
      return bound(left.minus(right));
    case "*":
      return bound(left.times(right), isSomething);
    case "/":
      return divide(left, right);
    case "^":
      if (left.isZero() && right.isNegative()) throw new CalculationFault("Division by zero.");
      if (isBroken(right)) countSlowCall(spent);
      return bound(left.pow(right), !left.isZero());
  }
}

function divide(left: Decimal, right: Decimal): Decimal {
  if (right.isZero()) throw new CalculationFault("Division by zero.");
  return bound(left.dividedBy(right), !left.isZero());
}

/** A result that is a number; `isSomething`: it is not zero, so that it may not become zero. */
function bound(value: Decimal, isSomething = false): Decimal {
  if (value.isNaN()) throw new CalculationFault("The result is no real number.");
  if (!value.isFinite() || value.e > EXPONENT_MAX) {
    throw new CalculationFault(`A number is larger than 1e${EXPONENT_MAX}.`);
  }
  if (isSomething && value.isZero()) {
    throw new CalculationFault(`A number is nearer to zero than 1e-${EXPONENT_MAX}.`);
  }
  return value;
}

function findConstant(name: string): Decimal {
  const constant = CONSTANTS.get(name);
  if (constant) return constant;
  if (FUNCTIONS.has(name)) throw new CalculationFault(`${name} is followed by its brackets.`);
  throw new CalculationFault(`There is no ${name}. ${OFFER}`);
}

const CONSTANTS: ReadonlyMap<string, Decimal> = new Map([
  ["pi", Decimal.acos(-1)],
  ["e", Decimal.exp(1)],
]);

const QUARTER_TURN = Decimal.acos(0);

interface Operation {
  /** How many terms it takes. */
  takes: readonly [min: number, max: number];
  run(terms: Decimal[], spent: Spent): Decimal;
}

const MANY: Operation["takes"] = [1, Number.POSITIVE_INFINITY];
const add = (terms: Decimal[]) => terms.reduce((sum, term) => bound(sum.plus(term)));

/** Everything that can be called, by its name in small letters. */
const FUNCTIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["abs", { takes: [1, 1], run: ([x]) => x!.abs() }],
  ["acos", { takes: [1, 1], run: ([x]) => takeArcCosine(x!) }],
  ["asin", { takes: [1, 1], run: ([x]) => takeArcSine(x!) }],
  ["atan", { takes: [1, 1], run: ([x]) => takeArcTangent(x!) }],
  ["cbrt", { takes: [1, 1], run: ([x]) => x!.cbrt() }],
  ["ceil", { takes: [1, 1], run: ([x]) => x!.ceil() }],
  ["cos", { takes: [1, 1], run: ([x]) => takeCosine(x!) }],
  ["exp", { takes: [1, 1], run: ([x]) => bound(x!.exp(), true) }],
  ["factorial", { takes: [1, 1], run: ([x]) => takeFactorial(x!) }],
  ["floor", { takes: [1, 1], run: ([x]) => x!.floor() }],
  ["ln", { takes: [1, 1], run: ([x]) => takeLogarithm(x!, null) }],
  // Whoever writes log(x) means one of two things, and is not to get the other.
  ["log", { takes: [2, 2], run: ([x, base]) => takeLogarithm(x!, base!) }],
  ["log10", { takes: [1, 1], run: ([x]) => takeLogarithm(x!, new Decimal(10)) }],
  ["log2", { takes: [1, 1], run: ([x]) => takeLogarithm(x!, new Decimal(2)) }],
  ["max", { takes: MANY, run: (terms) => Decimal.max(...terms) }],
  ["mean", { takes: MANY, run: (terms) => divide(add(terms), new Decimal(terms.length)) }],
  ["min", { takes: MANY, run: (terms) => Decimal.min(...terms) }],
  ["mod", { takes: [2, 2], run: ([a, b]) => takeRemainder(a!, b!) }],
  ["pow", { takes: [2, 2], run: ([a, b], spent) => operate("^", a!, b!, spent) }],
  ["round", { takes: [1, 2], run: ([x, places]) => round(x!, places) }],
  ["sin", { takes: [1, 1], run: ([x]) => takeSine(x!) }],
  ["sqrt", { takes: [1, 1], run: ([x]) => x!.sqrt() }],
  ["sum", { takes: MANY, run: (terms) => add(terms) }],
  ["tan", { takes: [1, 1], run: ([x]) => divide(takeSine(x!), takeCosine(x!)) }],
  ["trunc", { takes: [1, 1], run: ([x]) => x!.trunc() }],
]);

const OFFER = `There are: ${[...FUNCTIONS.keys(), ...CONSTANTS.keys()].join(", ")}.`;

function call(name: string, terms: readonly Term[], spent: Spent): Decimal {
  const operation = FUNCTIONS.get(name);
  if (!operation) throw new CalculationFault(`There is no ${name}(). ${OFFER}`);
  const [min, max] = operation.takes;
  if (terms.length < min || terms.length > max) {
    if (name === "log") throw new CalculationFault("Write ln(x), log10(x) or log(x, base).");
    const count = max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`;
    throw new CalculationFault(`${name}() takes ${min === max ? min : count} in its brackets.`);
  }
  const values = terms.map((term) => evaluate(term, spent));
  if (SLOW.has(name)) countSlowCall(spent);
  return bound(operation.run(values, spent));
}

function takeFactorial(of: Decimal): Decimal {
  if (!of.isInteger() || of.isNegative() || of.greaterThan(FACTORIAL_MAX)) {
    throw new CalculationFault(`A factorial is of a whole number from 0 to ${FACTORIAL_MAX}.`);
  }
  return listFactorials()[of.toNumber()]!;
}

let factorials: readonly Decimal[] | undefined;

/** Made once: a text full of factorials costs no more than one. */
function listFactorials(): readonly Decimal[] {
  if (factorials) return factorials;
  const list = [new Decimal(1)];
  for (let n = 1; n <= FACTORIAL_MAX; n++) list.push(list[n - 1]!.times(n));
  factorials = list;
  return list;
}

function takeLogarithm(of: Decimal, base: Decimal | null): Decimal {
  if (!of.isPositive() || of.isZero()) {
    throw new CalculationFault("A logarithm is of a number above zero.");
  }
  if (base === null) return of.ln();
  if (!base.isPositive() || base.isZero() || base.equals(1)) {
    throw new CalculationFault("A logarithm's base is a number above zero, and not 1.");
  }
  return of.log(base);
}

function takeRemainder(of: Decimal, by: Decimal): Decimal {
  if (by.isZero()) throw new CalculationFault("Division by zero.");
  return of.mod(by);
}

function takeSine(angle: Decimal): Decimal {
  return isTiny(angle) ? angle : settleSine(judgeAngle(angle), angle.sin());
}

function takeCosine(angle: Decimal): Decimal {
  return isTiny(angle) ? new Decimal(1) : settleSine(judgeAngle(angle), angle.cos());
}

function takeArcSine(of: Decimal): Decimal {
  return isTiny(of) ? of : of.asin();
}

function takeArcCosine(of: Decimal): Decimal {
  return isTiny(of) ? QUARTER_TURN : of.acos();
}

function takeArcTangent(of: Decimal): Decimal {
  if (isTiny(of)) return of;
  if (of.abs().lessThan(TANGENT_MAX)) return of.atan();
  return of.isNegative() ? QUARTER_TURN.negated() : QUARTER_TURN;
}

/** So near to zero that a sine, a tangent and their inverses are their argument in all digits. */
function isTiny(of: Decimal): boolean {
  return of.abs().lessThan(TINY);
}

function judgeAngle(angle: Decimal): Decimal {
  if (angle.abs().lessThanOrEqualTo(ANGLE_MAX)) return angle;
  throw new CalculationFault(`An angle is in radians, and at most ${ANGLE_MAX}.`);
}

function settleSine(angle: Decimal, sine: Decimal): Decimal {
  const isZero = sine.abs().lessThan(SINE_MIN) && angle.abs().greaterThan(1);
  return isZero ? new Decimal(0) : sine;
}

function round(of: Decimal, places = new Decimal(0)): Decimal {
  if (!places.isInteger() || places.isNegative() || places.greaterThan(PLACES_MAX)) {
    throw new CalculationFault(`round() takes a whole number of places from 0 to ${PLACES_MAX}.`);
  }
  return of.toDecimalPlaces(places.toNumber());
}
