// Removes a connection's secret from a reply, in every form in which an endpoint may repeat it.
import { yieldToEventLoop } from "../../../platform/clock.ts";

const REPLACEMENT = "[secret]";
/** Maximum levels of escapes that are read: `%255C` is `%5C`, and that is `\`. */
const DEPTH_MAX = 3;
/** Length of the end of a cut text that may hold half an escape, such as `&#x10FF`. */
const ESCAPE_CHARACTERS_MAX = 12;
/** Maximum characters that are read before other work has its turn. */
const TURN_CHARACTERS = 64 * 1024;
/** Minimum length of a secret that is removed within words; `abc` must stand alone. */
const PLAIN_CHARACTERS_MIN = 4;
/** Minimum length of a secret that is searched encoded; `YWJj`, for `abc`, occurs by chance. */
const ENCODED_CHARACTERS_MIN = 6;
const BYTE_BITS = 8;
const BASE64_BITS = 6;
/** Numbers of bytes before a secret in a group of base64: `abc` is `YWJj`, `xabc` is `eGFiYw`. */
const BASE64_OFFSETS = [0, 1, 2] as const;
const CODE = { A: 65, Z: 90, a: 97, minus: 45, plus: 43, underscore: 95, slash: 47 } as const;

/** A reading of a text: each character with the range that it stands for. */
interface View {
  text: string;
  starts: Uint32Array;
  ends: Uint32Array;
}

type Range = readonly [from: number, to: number];

/**
 * Removes the secret in all of its forms, in time linear in the text. A text that was cut also
 * loses its end where the secret may begin there.
 */
export async function scrub(text: string, secret: string, isCut: boolean): Promise<string> {
  const needles = await listNeedles(secret);
  let kept = isCut ? dropHalfEscape(text) : text;
  const found: Range[] = [];
  let view: View | undefined = openView(kept);
  for (let depth = 0; view && depth <= DEPTH_MAX; depth++) {
    const unbroken = dropLineBreaks(view);
    for (const needle of needles) {
      const end = findAll(needle.isEncoded ? unbroken : view, needle, found);
      if (isCut) kept = kept.slice(0, end);
      if (text.length > TURN_CHARACTERS) await yieldToEventLoop();
    }
    view = await unescapeView(view);
  }
  return removeRanges(kept, found);
}

function openView(text: string): View {
  const starts = new Uint32Array(text.length).map((_, at) => at);
  return { text, starts, ends: starts.map((at) => at + 1) };
}

/** Drops line breaks, which encoders put into long base64 or hex. */
function dropLineBreaks(view: View): View {
  const { text, starts, ends } = view;
  if (!/[\r\n]/.test(text)) return view;
  const isKept = (_: number, at: number) => text[at] !== "\n" && text[at] !== "\r";
  return {
    text: text.replaceAll(/[\r\n]/g, ""),
    starts: starts.filter(isKept),
    ends: ends.filter(isKept),
  };
}

const ESCAPE = new RegExp(
  [
    // In this order: `%2F`, `\u002f`, `\n`, `&#47;`, `&#x2f;`, `&amp;`.
    String.raw`(?:%|\\x)(?<byte>[\da-fA-F]{2})`,
    String.raw`\\u(?<unit>[\da-fA-F]{4})`,
    String.raw`\\(?<letter>[nr"'/\\])`,
    String.raw`&#(?<decimal>\d{1,7});`,
    String.raw`&#[xX](?<hex>[\da-fA-F]{1,7});`,
    "&(?<name>amp|lt|gt|quot|apos);",
  ].join("|"),
  "y",
);
const ESCAPE_STARTS = /[%\\&]/;
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r" };
const NAMES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** Reads each escape once; undefined where there are none. */
async function unescapeView({ text, starts, ends }: View): Promise<View | undefined> {
  const units = new Uint16Array(text.length);
  const read = { starts: new Uint32Array(text.length), ends: new Uint32Array(text.length) };
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    if (count % TURN_CHARACTERS === TURN_CHARACTERS - 1) await yieldToEventLoop();
    ESCAPE.lastIndex = at;
    const match = ESCAPE_STARTS.test(text[at]!) ? ESCAPE.exec(text) : null;
    units[count] = match ? decodeEscape(match.groups!) : text.charCodeAt(at);
    read.starts[count] = starts[at]!;
    at += match?.[0].length ?? 1;
    read.ends[count] = ends[at - 1]!;
  }
  if (count === text.length) return undefined;
  return {
    text: Buffer.from(units.buffer, 0, count * units.BYTES_PER_ELEMENT).toString("utf16le"),
    starts: read.starts.subarray(0, count),
    ends: read.ends.subarray(0, count),
  };
}

function decodeEscape(groups: Record<string, string | undefined>): number {
  const { byte, unit, letter, decimal, hex, name } = groups;
  if (letter !== undefined) return (LETTERS[letter] ?? letter).charCodeAt(0);
  if (name !== undefined) return NAMES[name]!.charCodeAt(0);
  if (decimal !== undefined) return Number(decimal);
  return Number.parseInt((byte ?? unit ?? hex)!, 16);
}

interface Needle {
  pattern: number[];
  /** KMP failure table: length of the longest proper prefix that is a suffix up to here. */
  fallback: number[];
  fold(unit: number): number;
  isEncoded: boolean;
  standsAlone: boolean;
}

/** Folds `4F` in hexadecimal to `4f`. */
const foldCase = (unit: number) =>
  unit >= CODE.A && unit <= CODE.Z ? unit + CODE.a - CODE.A : unit;

/** Folds `-_` of base64 for URLs to `+/`. */
function foldBase64(unit: number): number {
  if (unit === CODE.minus) return CODE.plus;
  return unit === CODE.underscore ? CODE.slash : unit;
}

async function listNeedles(secret: string): Promise<Needle[]> {
  const needles: Needle[] = [];
  for (const text of listTargets(secret)) {
    const standsAlone = text.length < PLAIN_CHARACTERS_MIN;
    const plain = { fold: foldCase, isEncoded: false, standsAlone };
    needles.push(createNeedle(text, plain));
    // A secret that looks like an escape is unescaped with its text: both forms are searched.
    const unescaped = await unescapeView(openView(text));
    if (unescaped) needles.push(createNeedle(unescaped.text, plain));
    if (text.length < ENCODED_CHARACTERS_MIN) continue;
    const encoded = { isEncoded: true, standsAlone: false };
    needles.push(createNeedle(Buffer.from(text).toString("hex"), { ...encoded, fold: foldCase }));
    for (const before of BASE64_OFFSETS) {
      needles.push(createNeedle(encodeInside(text, before), { ...encoded, fold: foldBase64 }));
    }
  }
  return needles;
}

/** The secret part of `Token abc` is `abc`; that of `Basic …` includes the password. */
function listTargets(secret: string): string[] {
  const space = secret.indexOf(" ");
  const credentials = space === -1 ? "" : secret.slice(space + 1);
  if (credentials.length < ENCODED_CHARACTERS_MIN) return [secret];
  if (secret.slice(0, space).toLowerCase() !== "basic") return [credentials];
  const pair = Buffer.from(credentials, "base64").toString("latin1");
  const password = pair.slice(pair.indexOf(":") + 1);
  const isFindable = password.length >= PLAIN_CHARACTERS_MIN && /^[ -~]+$/.test(password);
  return isFindable ? [credentials, password] : [credentials];
}

/** The base64 characters of a text at this offset that do not depend on the bytes around it. */
function encodeInside(text: string, bytesBefore: number): string {
  const all = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(text)]);
  const from = Math.ceil((bytesBefore * BYTE_BITS) / BASE64_BITS);
  return all.toString("base64").slice(from, Math.floor((all.length * BYTE_BITS) / BASE64_BITS));
}

function createNeedle(text: string, form: Omit<Needle, "pattern" | "fallback">): Needle {
  const pattern = Array.from({ length: text.length }, (_, at) => form.fold(text.charCodeAt(at)));
  const fallback = [0];
  for (let at = 1, same = 0; at < pattern.length; at++) {
    while (same > 0 && pattern[at] !== pattern[same]) same = fallback[same - 1]!;
    if (pattern[at] === pattern[same]) same++;
    fallback.push(same);
  }
  return { ...form, pattern, fallback };
}

/**
 * Adds the ranges where the needle stands, after Knuth, Morris and Pratt. Returns where an
 * unfinished one begins at the end of the text, or else that end.
 */
function findAll(view: View, needle: Needle, found: Range[]): number {
  const { text, starts, ends } = view;
  const { pattern, fallback, fold, standsAlone } = needle;
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = fold(text.charCodeAt(at));
    while (matched > 0 && pattern[matched] !== unit) matched = fallback[matched - 1]!;
    if (pattern[matched] === unit) matched++;
    if (matched < pattern.length) continue;
    const from = at + 1 - matched;
    if (!standsAlone || (isApart(text[from - 1]) && isApart(text[at + 1]))) {
      found.push([starts[from]!, ends[at]!]);
    }
    matched = fallback[matched - 1]!;
  }
  return starts[text.length - (standsAlone ? 0 : matched)] ?? ends.at(-1) ?? 0;
}

function isApart(neighbour: string | undefined): boolean {
  return neighbour === undefined || !/[\p{L}\p{N}]/u.test(neighbour);
}

/** An escape that was cut in half cannot be read. */
function dropHalfEscape(text: string): string {
  const from = Math.max(0, text.length - ESCAPE_CHARACTERS_MAX);
  const at = text.slice(from).search(ESCAPE_STARTS);
  return at === -1 ? text : text.slice(0, from + at);
}

function removeRanges(text: string, found: Range[]): string {
  found.sort(([one], [other]) => one - other);
  let rest = "";
  let end = 0;
  for (const [from, to] of found) {
    if (from >= text.length) break;
    if (from >= end) rest += text.slice(end, from) + REPLACEMENT;
    end = Math.max(end, to);
  }
  return rest + text.slice(end);
}
