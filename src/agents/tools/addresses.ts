// Finds the web addresses in a text.
import { URL_CHARACTERS_MAX } from "../../platform/text.ts";

const PLACES_MAX = 10_000;
/** Maximum examined characters per character of a text, since places may overlap. */
const EXAMINED_TIMES = 8;
const EXAMINED_CHARACTERS_MIN = 20_000;
/** Maximum levels of JSON quoted in JSON. */
const ESCAPES_DEPTH_MAX = 2;

/** Tools whose results a model may have written itself, perhaps a moment ago. */
const NOTE_TOOLS = new Set(["memory_list", "memory_get", "memory_set", "memory_delete"]);

export function bringsAddresses(tool: string): boolean {
  return !NOTE_TOOLS.has(tool);
}

/** Tools whose results come from outside and never repeat the arguments of the call. */
const OUTSIDE_TOOLS = new Set(["web_search", "read_page"]);

export function mayEcho(tool: string): boolean {
  return !OUTSIDE_TOOLS.has(tool);
}

/**
 * The form in which addresses are compared: as the URL standard writes them, without fragment.
 * Percent-encoding stays, so that `%41` and `A` are two addresses.
 */
export function normalizeAddress(text: string): string | null {
  if (text.length > URL_CHARACTERS_MAX) return null;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.username !== "" || url.password !== "") return null;
  url.hash = "";
  return url.href;
}

/**
 * Lists the http and https addresses in a text by place, some twice. Each likely end of an address
 * makes one. An http address brings its https twin, by which it can be opened.
 */
export function* listAddresses(text: string): Iterable<readonly string[]> {
  const hasRoom = createRoom(text);
  for (const reading of readEscapes(text)) {
    for (const token of listTokens(reading)) {
      if (!hasRoom(token)) return;
      const addresses = normalizeAll(listEnds(token));
      const plain = addresses.filter((address) => address.startsWith("http:"));
      yield [...addresses, ...plain.map((address) => `https:${address.slice("http:".length)}`)];
    }
  }
}

function normalizeAll(candidates: Iterable<string>): string[] {
  return [...candidates].map(normalizeAddress).filter((address) => address !== null);
}

function createRoom({ length }: string): (token: string) => boolean {
  let places = PLACES_MAX;
  let characters = Math.max(EXAMINED_CHARACTERS_MIN, EXAMINED_TIMES * length);
  return (token) => {
    places -= 1;
    characters -= token.length;
    return places >= 0 && characters >= 0;
  };
}

function* readEscapes(text: string): Iterable<string> {
  yield text;
  let reading = text;
  for (let depth = 0; depth < ESCAPES_DEPTH_MAX; depth++) {
    const before = reading;
    // An address ends at every other backslash.
    reading = reading
      .replaceAll("\\/", "/")
      .replace(ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
    if (reading === before) return;
    yield reading;
  }
}

const ESCAPE = /\\u([0-9a-fA-F]{4})/g;
const BEGINNING = /https?:\/\//gi;
const END = /[\s<>"`\\\p{Cc}\p{Cf}\p{Cs}]/gu;

function* listTokens(text: string): Iterable<string> {
  const ending = new RegExp(END);
  let end = 0;
  for (const { 0: scheme, index } of text.matchAll(BEGINNING)) {
    // Several places may share an end.
    if (index >= end) {
      ending.lastIndex = index + scheme.length;
      end = ending.exec(text)?.index ?? text.length;
    }
    yield text.slice(index, Math.min(end, index + URL_CHARACTERS_MAX + 1));
  }
}

function listEnds(token: string): Set<string> {
  const ends = new Set<string>();
  const cuts = [
    token.length,
    findUnbalanced(token),
    token.search(SEPARATOR),
    token.search(FOREIGN),
    findNext(token),
  ];
  for (const cut of cuts) {
    if (cut <= 0) continue;
    const part = trimEnd(token.slice(0, cut));
    ends.add(part);
    // Sources of pages escape the ampersand.
    if (part.includes("&amp;")) ends.add(part.replaceAll("&amp;", "&"));
  }
  return ends;
}

const SEPARATOR = /[,;|'*^{}[\]]/;
/** Pattern of a character that may follow an address directly in scripts without spaces. */
const FOREIGN = /[^\0-\x7f]/;
const OPENING: ReadonlyMap<string, string> = new Map([
  [")", "("],
  ["]", "["],
  ["}", "{"],
]);

/** Index of the first bracket that closes one from before the address, or -1. */
function findUnbalanced(token: string): number {
  let rounds = 0;
  let squares = 0;
  let curls = 0;
  for (let at = 0; at < token.length; at++) {
    const sign = token[at]!;
    if (sign === "(") rounds++;
    else if (sign === "[") squares++;
    else if (sign === "{") curls++;
    else if (sign === ")" && --rounds < 0) return at;
    else if (sign === "]" && --squares < 0) return at;
    else if (sign === "}" && --curls < 0) return at;
  }
  return -1;
}

function findNext(token: string): number {
  const rest = token.slice(1).search(/https?:\/\//i);
  return rest === -1 ? -1 : rest + 1;
}

const PUNCTUATION = ".,:;!?'*_~-|…،؛؟。，、；：！？）」』】》";

/** Trims a sentence's punctuation, and brackets that are not the address's own. */
function trimEnd(part: string): string {
  let end = part.length;
  let unopened: Map<string, number> | null = null;
  for (; end > 0; end--) {
    const last = part[end - 1]!;
    if (PUNCTUATION.includes(last)) continue;
    const opening = OPENING.get(last);
    if (opening === undefined) break;
    unopened ??= countUnopened(part);
    const count = unopened.get(last)!;
    if (count <= 0) break;
    unopened.set(last, count - 1);
  }
  return part.slice(0, end);
}

function countUnopened(part: string): Map<string, number> {
  const counts = [...OPENING].map(([closing, opening]): [string, number] => {
    return [closing, part.split(closing).length - part.split(opening).length];
  });
  return new Map(counts);
}

const LABEL = String.raw`[\p{L}\p{N}][\p{L}\p{N}-]{0,62}`;
const ENDING = String.raw`\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?(?![\p{L}\p{N}@-])`;
const BARE = new RegExp(String.raw`(?<![\p{L}\p{N}@._/:-])(?:${LABEL}\.){1,8}${ENDING}`, "gu");

/** Lists, by place, names with a dot and an optional path, which people write for addresses. */
export function* listBareAddresses(text: string): Iterable<readonly string[]> {
  const hasRoom = createRoom(text);
  for (const { 0: host, index } of text.matchAll(BARE)) {
    const rest = text.slice(index + host.length, index + URL_CHARACTERS_MAX);
    const end = /^[/?]/.test(rest) ? rest.search(END) : 0;
    const token = `https://${host}${rest.slice(0, end === -1 ? rest.length : end)}`;
    if (!hasRoom(token)) return;
    yield normalizeAll(listEnds(token));
  }
}
