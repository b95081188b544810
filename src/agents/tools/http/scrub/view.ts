// A text as a row of characters, each with the place where it stands, and the same unescaped.

/** Characters as UTF-16 units. */
export interface View {
  units: Uint16Array;
  /** Where in the text each of them begins, and behind the last its end. */
  starts: Uint32Array;
}

/** A character that several others stand for. */
interface Escape {
  unit: number;
  length: number;
}

const PERCENT = 37;
const AMPERSAND = 38;
const BACKSLASH = 92;
const NAMED: readonly (readonly [name: string, unit: number])[] = [
  ["amp;", 38],
  ["lt;", 60],
  ["gt;", 62],
  ["quot;", 34],
  ["apos;", 39],
];
/** The digits of `&#0000038;`. */
const DIGITS_MAX = 7;

export function openView(text: string): View {
  const { length } = text;
  const units = new Uint16Array(length);
  const starts = new Uint32Array(length + 1);
  for (let at = 0; at < length; at++) {
    units[at] = text.charCodeAt(at);
    starts[at] = at;
  }
  starts[length] = length;
  return { units, starts };
}

/** The escapes of JSON, scripts, URLs and HTML, each read once; null: there are none. */
export function unescapeView({ units, starts }: View): View | null {
  const read = new Uint16Array(units.length);
  const begun = new Uint32Array(units.length + 1);
  let count = 0;
  for (let at = 0; at < units.length; count++) {
    begun[count] = starts[at]!;
    const found = readEscape(units, at);
    read[count] = found?.unit ?? units[at]!;
    at += found?.length ?? 1;
  }
  if (count === units.length) return null;
  begun[count] = starts[units.length]!;
  return { units: read.subarray(0, count), starts: begun.subarray(0, count + 1) };
}

function readEscape(units: Uint16Array, at: number): Escape | null {
  switch (units[at]) {
    case PERCENT:
      return readHex(units, at, 1, 2);
    case BACKSLASH:
      return readBackslash(units, at);
    case AMPERSAND:
      return readEntity(units, at);
    default:
      return null;
  }
}

function readBackslash(units: Uint16Array, at: number): Escape | null {
  switch (units[at + 1]) {
    case 117: // u
      return readHex(units, at, 2, 4);
    case 120: // x
      return readHex(units, at, 2, 2);
    case 110: // n
      return { unit: 10, length: 2 };
    case 114: // r
      return { unit: 13, length: 2 };
    case 34: // "
    case 39: // '
    case 47: // /
    case BACKSLASH:
      return { unit: units[at + 1]!, length: 2 };
    default:
      return null;
  }
}

/** So many hexadecimal digits behind so many characters. */
function readHex(units: Uint16Array, at: number, before: number, digits: number): Escape | null {
  let unit = 0;
  for (let digit = 0; digit < digits; digit++) {
    const value = readDigit(units[at + before + digit]);
    if (value === null) return null;
    unit = unit * 16 + value;
  }
  return { unit, length: before + digits };
}

function readEntity(units: Uint16Array, at: number): Escape | null {
  if (units[at + 1] === 35) return readNumber(units, at);
  for (const [name, unit] of NAMED) {
    if (startsWith(units, at + 1, name)) return { unit, length: 1 + name.length };
  }
  return null;
}

/** `&#38;` or `&#x26;` */
function readNumber(units: Uint16Array, at: number): Escape | null {
  const isHex = units[at + 2] === 120 || units[at + 2] === 88;
  const base = isHex ? 16 : 10;
  const first = at + (isHex ? 3 : 2);
  let unit = 0;
  for (let place = first; place <= first + DIGITS_MAX; place++) {
    if (units[place] === 59 && place > first) return { unit, length: place + 1 - at };
    const value = readDigit(units[place]);
    if (value === null || value >= base) return null;
    unit = unit * base + value;
  }
  return null;
}

function readDigit(unit: number | undefined): number | null {
  if (unit === undefined) return null;
  if (unit >= 48 && unit <= 57) return unit - 48;
  const letter = unit | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : null;
}

function startsWith(units: Uint16Array, at: number, name: string): boolean {
  for (let place = 0; place < name.length; place++) {
    if (units[at + place] !== name.charCodeAt(place)) return false;
  }
  return true;
}
