// Writes a short text that a pattern matches by reading the pattern, without running it.

const LENGTH_MAX = 1_000;
const PATTERN_LENGTH_MAX = 500;
const DEPTH_MAX = 16;
const ESCAPES = new Map([
  ...Object.entries({ d: "0", w: "a", s: " ", D: "a", W: " ", S: "a", b: "", B: "" }),
  ...Object.entries({ n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", "0": "\0" }),
]);
/** Characters to try for a negated class; nearly every such class allows one of them. */
const OTHERS = "a0A _-.é";

class UnsupportedPattern extends Error {}

export function writeMatch(pattern: string, lengthMin = 0): string | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  try {
    return new PatternReader(pattern).write(lengthMin);
  } catch (failure) {
    if (failure instanceof UnsupportedPattern) return null;
    throw failure;
  }
}

class PatternReader {
  readonly #text: string;
  #at = 0;
  #stretch = { at: 0, character: "", room: 0 };

  constructor(text: string) {
    this.#text = text;
  }

  write(lengthMin: number): string {
    const text = this.#readChoice(0);
    if (this.#at < this.#text.length) throw new UnsupportedPattern();
    const { at, character, room } = this.#stretch;
    const missing = Math.min(lengthMin - text.length, room, LENGTH_MAX);
    if (missing <= 0) return text;
    return text.slice(0, at) + character.repeat(missing) + text.slice(at);
  }

  #readChoice(depth: number): string {
    if (depth > DEPTH_MAX) throw new UnsupportedPattern();
    const first = this.#readSequence(depth, depth === 0);
    while (this.#take("|")) this.#readSequence(depth, false);
    return first;
  }

  #readSequence(depth: number, mayStretch: boolean): string {
    let text = "";
    while (this.#at < this.#text.length && !"|)".includes(this.#text[this.#at]!)) {
      const one = this.#readOne(depth);
      const [least, most] = this.#readCount();
      if (text.length + one.length * least > LENGTH_MAX) throw new UnsupportedPattern();
      text += one.repeat(least);
      if (mayStretch && one.length === 1 && most > least) {
        this.#stretch = { at: text.length, character: one, room: most - least };
      }
    }
    return text;
  }

  #readOne(depth: number): string {
    const character = this.#text[this.#at++]!;
    switch (character) {
      case "^":
      case "$":
        return "";
      case ".":
        return "a";
      case "(":
        return this.#readGroup(depth);
      case "[":
        return this.#readClass();
      case "\\":
        return this.#readEscape();
      default:
        return character;
    }
  }

  #readGroup(depth: number): string {
    const head = /\?(?::|<[A-Za-z_]\w{0,63}>)/y;
    head.lastIndex = this.#at;
    const found = head.exec(this.#text);
    if (found) this.#at += found[0].length;
    else if (this.#text[this.#at] === "?") throw new UnsupportedPattern();
    const text = this.#readChoice(depth + 1);
    if (!this.#take(")")) throw new UnsupportedPattern();
    return text;
  }

  #readClass(): string {
    const isNegated = this.#take("^");
    const ranges: [from: string, to: string][] = [];
    while (!this.#take("]")) {
      if (this.#at >= this.#text.length) throw new UnsupportedPattern();
      const from = this.#readMember();
      const isRange = this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]";
      if (isRange) this.#at++;
      ranges.push([from, isRange ? this.#readMember() : from]);
    }
    if (!isNegated && ranges.length > 0) return ranges[0]![0];
    const isIn = (one: string) => ranges.some(([from, to]) => from <= one && one <= to);
    const other = isNegated ? [...OTHERS].find((one) => !isIn(one)) : undefined;
    if (other === undefined) throw new UnsupportedPattern();
    return other;
  }

  #readMember(): string {
    const character = this.#text[this.#at++]!;
    return character === "\\" ? this.#readEscape() : character;
  }

  #readEscape(): string {
    const character = this.#text[this.#at++] ?? "";
    if (/[1-9kpPcux]/.test(character)) throw new UnsupportedPattern();
    return ESCAPES.get(character) ?? character;
  }

  #readCount(): [least: number, most: number] {
    const count = /[*+?]|\{([0-9]{1,6})(,?)([0-9]{0,6})\}/y;
    count.lastIndex = this.#at;
    const found = count.exec(this.#text);
    if (!found) return [1, 1];
    this.#at += found[0].length;
    this.#take("?");
    const [sign, least, comma, most] = found;
    if (sign === "?") return [0, 1];
    if (least === undefined) return [sign === "+" ? 1 : 0, Number.POSITIVE_INFINITY];
    if (comma === "") return [Number(least), Number(least)];
    return [Number(least), most === "" ? Number.POSITIVE_INFINITY : Number(most)];
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}
