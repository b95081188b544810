// The grammar of the calculator: from a text to a tree in which nothing but arithmetic can stand.

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
/** Brackets, signs and powers inside each other; real calculations have a handful. */
const DEPTH_MAX = 64;
/** How tightly an operator binds; a power binds tighter still, and from the right. */
const BINDING: Readonly<Record<string, number>> = { "+": 1, "-": 1, "*": 2, "/": 2 };

const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z][A-Za-z0-9]*/y;
const SPACES = /\s*/y;

/** What people and models write for the same sign; Arabic digits count like the others. */
const ALIKE: readonly [RegExp, string | ((found: string) => string)][] = [
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
  return new Parser(plain).readWhole();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readWhole(): Term {
    const term = this.#readOperations(1);
    if (this.#peek() === "") return term;
    if (this.#peek() === ",") throw this.#fail("Numbers are written without thousands separators");
    throw this.#fail("An operator is expected");
  }

  /** Operators of at least that binding, from the left. */
  #readOperations(binding_min: number): Term {
    let left = this.#readSigned();
    for (;;) {
      const sign = this.#peek();
      const binding = BINDING[sign];
      if (binding === undefined || binding < binding_min) {
        if (sign !== "%") return left;
        // It means two things, and a guess would give wrong numbers without a word.
        throw this.#fail("`%` is not used: write `/ 100` for per cent, or mod(a, b)");
      }
      this.#at++;
      left = {
        kind: "operation",
        sign: sign as Sign,
        left,
        right: this.#readOperations(binding + 1),
      };
    }
  }

  /** A sign binds less than a power: -2^2 is -4, and 2^-1 is a half. */
  #readSigned(): Term {
    this.#enter();
    let term: Term;
    if (this.#take("-")) term = { kind: "negation", of: this.#readSigned() };
    else if (this.#take("+")) term = this.#readSigned();
    else term = this.#readPower();
    this.#depth--;
    return term;
  }

  #readPower(): Term {
    const base = this.#readFactorial();
    if (!this.#take("^")) return base;
    return { kind: "operation", sign: "^", left: base, right: this.#readSigned() };
  }

  #readFactorial(): Term {
    const of = this.#readTerm();
    if (!this.#take("!")) return of;
    if (this.#peek() === "!") throw this.#fail("`!!` is not used: write brackets");
    return { kind: "factorial", of };
  }

  #readTerm(): Term {
    if (this.#take("(")) {
      const inner = this.#readOperations(1);
      this.#require(")");
      return inner;
    }
    const number = this.#match(NUMBER);
    if (number !== null) {
      // As in 1,000 inside a call, where the comma would part two numbers.
      if (/^0\d/.test(number)) {
        throw new CalculationFault(`${number} begins with a needless zero; 1,000 is written 1000.`);
      }
      return { kind: "number", text: number };
    }
    const name = this.#match(NAME)?.toLowerCase();
    if (name === undefined) throw this.#fail("A number is expected");
    return this.#take("(") ? this.#readCall(name) : { kind: "constant", name };
  }

  #readCall(name: string): Term {
    const terms: Term[] = [];
    if (this.#take(")")) return { kind: "call", name, terms };
    do terms.push(this.#readOperations(1));
    while (this.#take(","));
    this.#require(")");
    return { kind: "call", name, terms };
  }

  #enter(): void {
    this.#depth++;
    if (this.#depth > DEPTH_MAX) {
      throw new CalculationFault(`At most ${DEPTH_MAX} terms may stand inside each other.`);
    }
  }

  /** The next character that is no white space; empty: the end. */
  #peek(): string {
    this.#match(SPACES);
    return this.#text.charAt(this.#at);
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #require(character: string): void {
    if (!this.#take(character)) throw this.#fail(`\`${character}\` or an operator is expected`);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found?.[0] ?? null;
  }

  #fail(what: string): CalculationFault {
    const rest = [...this.#text.slice(this.#at)];
    const near = rest.length > 20 ? `${rest.slice(0, 20).join("")}…` : rest.join("");
    const place = near === "" ? "at the end" : `before \`${near.toWellFormed()}\``;
    return new CalculationFault(`${what}, ${place}.`);
  }
}
