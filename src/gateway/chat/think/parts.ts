// Takes an answer apart into what counts when it is compared: words, numbers, arithmetic.

/** Where the digits of the scripts begin that models write numbers in. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10];
const FOREIGN_DIGITS = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\uff10-\uff19]/g;
/** Vowel signs and the stretching of Arabic, and letters that are not seen: direction, joining. */
const UNSEEN = /[\u0640\u064b-\u0652\u0670\p{Cf}\p{Variation_Selector}]/gu;

/** LaTeX that only says how something looks; `\,` parts thousands. */
const LOOKS = new RegExp(
  "\\\\(?:(?:text|math)(?:bf|it|rm|sf|tt)?|operatorname|boxed|displaystyle|left|right|q?quad)" +
    "(?![a-z])",
  "g",
);
const SIGNS: Record<string, string> = {
  ...{ times: "×", cdot: "·", div: "/", pm: "±", sqrt: "√", pi: "π", infty: "∞" },
  ...{ le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", circ: "°" },
};
const FRACTION = /\\[dt]?frac(?:\{([^{}]{1,100})\}\{([^{}]{1,100})\}|(\d)(\d))/g;

/** 2 ** 3 and x**2, and no bold number behind a word. */
const POWER = /(?:(?<=[\d)\]}])\s{0,4}\*\*\s{0,4}|(?<=\p{L})\*\*)(?=[-+]?\s?(?:[\d(]|\.\d))/gu;

const TOKEN = new RegExp(
  [
    // A version or a date, in which no dot is a decimal's.
    "(?<version>\\d+(?:\\.\\d+){2,})",
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

interface Place {
  /** What the answer has come to so far. */
  parts: string[];
  /** What stands directly in front of and behind the sign, and all that is still to come. */
  before: string;
  after: string;
  rest: string;
}

/** In order; a sign that belongs to a number and not between two has a space in front. */
export function readParts(answer: string): string[] {
  const text = flatten(answer);
  const parts: string[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const { version, number, word, mark } = match.groups!;
    if (version) parts.push(version);
    else if (number) parts.push(writeNumber(number));
    else if (word) parts.push(word);
    else if (mark) {
      const end = match.index + mark.length;
      const rest = text.slice(end, end + 40);
      const place = { parts, before: text[match.index - 1] ?? " ", after: rest[0] ?? " ", rest };
      parts.push(...judgeMark(mark, place));
    }
  }
  return parts;
}

/** One way to write what is written in several. */
function flatten(answer: string): string {
  return answer
    .normalize("NFC")
    .toLowerCase()
    .replace(UNSEEN, "")
    .replace(FOREIGN_DIGITS, (digit) => {
      const code = digit.charCodeAt(0);
      return String(code - ZEROS.findLast((zero) => zero <= code)!);
    })
    .replaceAll("{,}", ",")
    .replace(FRACTION, (_, top = "", below = "", one = "", other = "") => {
      return `(${top || one})/(${below || other})`;
    })
    .replace(LOOKS, " ")
    .replace(/\\([a-z]{2,5})(?![a-z])/g, (all, name: string) => SIGNS[name] ?? all)
    .replace(/\\[,;:! ]/g, "\u2009")
    .replace(/\\[()[\]]/g, " ")
    .replace(/\^\(?\{?°\}?\)?/g, "°")
    .replace(POWER, "^");
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
  const { parts, before, after } = place;
  const isFirst = parts.every((part) => part === "(");
  if (MINUS.test(mark)) return judgeMinus(place, isFirst);
  switch (mark) {
    case "(":
    case "[":
    case "{":
      return ["("];
    case ")":
    case "]":
    case "}":
      return [")"];
    case "/":
    case "÷":
    case "∕":
    case "⁄":
      return isFirst ? [] : ["/"];
    // A number is the same with a plus in front of it.
    case "+":
      return isFirst ? [] : ["+"];
    // An asterisk may be emphasis or a bullet as well.
    case "*":
    case "×":
    case "·":
    case "⋅":
      return isFirst || isWord(parts.at(-1)!) || !OPERAND_BEHIND.test(place.rest) ? [] : ["×"];
    case "%":
    case "٪":
    case "％":
      return ["%"];
    case ":":
      return /\d/.test(before) && /\d/.test(after) ? [":"] : [];
    case "!":
      return /[\d)]/.test(before) ? ["!"] : [];
    case "#":
      return /\p{L}/u.test(before) ? ["#"] : [];
    case "°":
    case "^":
      return [mark];
    default:
      return /\p{S}/u.test(mark) && !DECORATION.test(mark) ? [mark] : [];
  }
}

/** A word, and not the one letter of a variable, or a function in front of its bracket. */
const WORD_BEHIND = /^[\p{L}\p{M}]{2,}(?!\()/u;
/** A number, a variable or a bracket, with its sign. */
const OPERAND_BEHIND = /^\s*(?:[-+−]\s*)?(?:[\d(√$]|\.\d|\p{L}(?![\p{L}\p{M}]))/u;

/** -5 and 10 - 5 keep it; `well-known`, `covid-19` and `Paris - France` are words with a dash. */
function judgeMinus({ parts, before, after, rest }: Place, isFirst: boolean): string[] {
  const isAfterWord = isWord(parts.at(-1) ?? "");
  if (/[\s-]/.test(after)) {
    return !isAfterWord && OPERAND_BEHIND.test(rest) ? ["-"] : [];
  }
  if (isFirst) return ["-"];
  // Behind a border, be it a comma or an equals sign, it is the sign of what follows.
  if (!/[\p{L}\p{M}\p{N})\]}%!°]/u.test(before)) return [" -"];
  return isAfterWord || WORD_BEHIND.test(rest) ? [] : ["-"];
}

/** No number, sign or variable. */
function isWord(part: string): boolean {
  return /^[\p{L}\p{M}]{2}/u.test(part);
}
