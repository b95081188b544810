// Takes an answer apart into what counts when it is compared: words, numbers, arithmetic.
import { spellAlike } from "./spelling.ts";

const TOKEN = new RegExp(
  [
    // A version or a date, in which no dot is a decimal's.
    "(?<version>v\\d+(?:\\.\\d+)+|\\d+(?:\\.\\d+){2,})",
    // Thousands are parted by commas, in India's way too, or else by one and the same sign.
    "(?<number>(?:[1-9]\\d{0,2}(?:,\\d{2,3})*,\\d{3}(?!\\d)",
    "[1-9]\\d{0,2}(?<apart>['’_٬ \\u00a0\\u2009\\u202f])\\d{3}(?:\\k<apart>\\d{3})*(?!\\d)",
    "\\d+)(?:[.٫]\\d+)?",
    "[.٫]\\d+)",
    "(?<word>[\\p{L}\\p{M}][\\p{L}\\p{M}\\p{N}]*|\\p{N}+)",
    "(?<gap>\\s+)",
    "(?<mark>.)",
  ].join("|"),
  "gsu",
);
const MINUS = /[-\u2212\u2010-\u2013\ufe63\uff0d]/;
/** Symbols that decorate, TeX's border among them: so $5 is 5, and €5 is not. */
const DECORATION = /[$`´¨\p{Extended_Pictographic}\p{So}]/u;
/** Suits of cards, flats and sharps; brackets that round. */
const MEANINGFUL = /[\u2660-\u266f⌊⌋⌈⌉]/;

interface Place {
  /** What the answer has come to so far. */
  parts: string[];
  /** They are nothing, or brackets that open. */
  isFirst: boolean;
  /** What stands directly in front of and behind the sign, and all that is still to come. */
  before: string;
  after: string;
  rest: string;
}

/** In order; a sign that belongs to a number and not between two has a space in front. */
export function readParts(answer: string): string[] {
  const text = spellAlike(answer);
  const parts: string[] = [];
  let opening = 0;
  for (const match of text.matchAll(TOKEN)) {
    const { version, number, word, mark } = match.groups!;
    if (version) parts.push(version);
    else if (number) parts.push(writeNumber(number));
    else if (word) parts.push(word);
    else if (mark) {
      const end = match.index + mark.length;
      const rest = text.slice(end, end + 40);
      while (parts[opening] === "(" || parts[opening] === "[") opening += 1;
      const isFirst = opening === parts.length;
      const [before, after] = [text[match.index - 1] ?? " ", rest[0] ?? " "];
      parts.push(...judgeMark(mark, { parts, isFirst, before, after, rest }));
    }
  }
  return parts;
}

function writeNumber(number: string): string {
  const point = Math.max(number.lastIndexOf("."), number.lastIndexOf("٫"));
  const whole = (point === -1 ? number : number.slice(0, point)).replace(/\D/g, "");
  const fraction = point === -1 ? "" : number.slice(point + 1);
  let start = 0;
  while (start < whole.length - 1 && whole[start] === "0") start++;
  let end = fraction.length;
  while (end > 0 && fraction[end - 1] === "0") end--;
  const head = whole.slice(start) || "0";
  return end === 0 ? head : `${head}.${fraction.slice(0, end)}`;
}

/** What a sign that is no letter adds: most of them nothing. */
function judgeMark(mark: string, place: Place): string[] {
  const { parts, isFirst, before, after } = place;
  const isNew = isFirst || parts.at(-1) === ",";
  if (MINUS.test(mark)) return judgeMinus(place);
  switch (mark) {
    case "(":
    case "{":
      return ["("];
    case ")":
    case "}":
      return [")"];
    // What lists and intervals are parted by; it tells which brackets mean something.
    case ",":
    case ";":
    case "،":
    case "，":
    case "、":
      return [","];
    case "/":
    case "÷":
    case "∕":
    case "⁄":
      return isFirst ? [] : ["/"];
    // A number is the same with a plus in front of it.
    case "+":
      return isNew ? [] : ["+"];
    // An asterisk may be emphasis or a bullet as well.
    case "*":
    case "×":
    case "·":
    case "⋅":
      return isNew || isWord(parts.at(-1)!) || !OPERAND_BEHIND.test(place.rest) ? [] : ["×"];
    case "%":
    case "٪":
    case "％":
      return ["%"];
    case ":":
      return /\d/.test(before) && /\d/.test(after) ? [":"] : [];
    case "!":
      return isFactorial(place) || isNegation(place) ? ["!"] : [];
    case "#":
      return /\p{L}/u.test(before) ? ["#"] : [];
    case "‰":
    case "′":
    case "[":
    case "]":
    case "°":
    case "^":
      return [mark];
    default:
      return MEANINGFUL.test(mark) || (/\p{S}/u.test(mark) && !DECORATION.test(mark)) ? [mark] : [];
  }
}

/** 5!, (n - 1)!, n! and 5!!, but no cry. */
function isFactorial({ parts, before }: Place): boolean {
  const last = parts.at(-1) ?? "";
  if (before === "!") return last === "!";
  return /[\d)]/.test(before) || (/^\p{L}$/u.test(before) && last === before);
}

/** !a and !(a || b) */
function isNegation({ before, after }: Place): boolean {
  return !/[\p{L}\p{N})]/u.test(before) && /[\p{L}(]/u.test(after);
}

const FUNCTION = "(?:(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|ln|lg|log|exp|sqrt|inf(?:inity|ty)?)";
const IS_FUNCTION = new RegExp(`^${FUNCTION}$`);
/** A word, and not the one letter of a variable, or a function in front of its bracket. */
const WORD_BEHIND = new RegExp(
  `^(?!${FUNCTION}(?!\\p{L}))[\\p{L}\\p{M}]{2,40}(?![\\p{L}\\p{M}(])`,
  "u",
);
/** A number, a variable, a function or a bracket, with its sign. */
const OPERAND_BEHIND = new RegExp(
  "^\\s*(?:[-+−]\\s*)?(?:[\\d(√$\\\\]|\\.\\d|" +
    `${FUNCTION}(?![\\p{L}\\p{M}])|\\p{L}(?![\\p{L}\\p{M}]))`,
  "u",
);
/** Nothing but what ends a sentence or decorates. */
const NOTHING_BEHIND = /^[\s*_`$"'.,;:)\]}]{0,39}$/;

/** -5 and 10 - 5 keep it; `well-known`, `covid-19` and `Paris - France` are words with a dash. */
function judgeMinus({ parts, isFirst, before, after, rest }: Place): string[] {
  const last = parts.at(-1) ?? "";
  const isAfterWord = isWord(last);
  const isAttached = /[\p{L}\p{N}]/u.test(before);
  // A grade, a blood type or a charge: A-, Cl-
  if (isAttached && NOTHING_BEHIND.test(rest)) return ["-"];
  if (/[\s-]/.test(after)) {
    if (isAttached && /^\p{L}$/u.test(last)) return ["-"];
    if (isAfterWord || !OPERAND_BEHIND.test(rest)) return [];
    return [last === "," ? " -" : "-"];
  }
  if (isFirst) return ["-"];
  // Behind a border, be it a comma or an equals sign, it is the sign of what follows.
  if (!/[\p{L}\p{M}\p{N})\]}%!°′]/u.test(before)) return [" -"];
  return isAfterWord || WORD_BEHIND.test(rest) ? [] : ["-"];
}

/** No number, sign, function or variable. */
function isWord(part: string): boolean {
  return /^[\p{L}\p{M}]{2}/u.test(part) && !IS_FUNCTION.test(part);
}
