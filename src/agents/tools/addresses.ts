// Which web addresses stand in a text.
import { URL_CHARACTERS_MAX } from "../../net/index.ts";

/** So many places of one text are looked at, the first ones … */
const PLACES_MAX = 10_000;
/** … and so much of it, by its length: each place could go on to where the next one ends. */
const EXAMINED_TIMES = 8;
const EXAMINED_CHARACTERS_MIN = 20_000;
/** Texts inside texts, such as a reply that quotes JSON. */
const ESCAPES_DEPTH_MAX = 2;

/** A note says what a model wrote, perhaps a moment ago: an address in it came from nowhere. */
const ECHOES: ReadonlySet<string> = new Set([
  ...["memory_list", "memory_get", "memory_set", "memory_delete"],
]);

/** Whether the results of a tool make the addresses in them known. */
export function bringsAddresses(tool: string): boolean {
  return !ECHOES.has(tool);
}

/** What they tell is others' words, and never what a model has just asked for. */
const FINDERS: ReadonlySet<string> = new Set(["web_search", "read_page"]);

/** Whether the results of a tool may say again what it was asked: any tool of an account's. */
export function mayEcho(tool: string): boolean {
  return !FINDERS.has(tool);
}

/**
 * The form in which addresses are compared: as the URL standard writes them, without fragment.
 * What is percent-encoded stays so: `%41` and `A` are two addresses. null: it is none.
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
 * Every http and https address in a text, in the form in which they are compared, some twice; of
 * an http address also its https twin, since that is how it can be opened. Where an address ends
 * is a matter of taste, so each likely end makes one: all of them stand in the text. Those of one
 * place come together, so that whoever reads them can let others work between two places.
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

/** What says whether one more place of a text may be looked at. */
function createRoom({ length }: string): (token: string) => boolean {
  let places = PLACES_MAX;
  let characters = Math.max(EXAMINED_CHARACTERS_MIN, EXAMINED_TIMES * length);
  return (token) => {
    places -= 1;
    characters -= token.length;
    return places >= 0 && characters >= 0;
  };
}

/** The text, and what it says where it is JSON, or JSON in JSON. */
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
/** No address goes on behind one of these. */
const END = /[\s<>"`\\\p{Cc}\p{Cf}\p{Cs}]/gu;

/** From each beginning to where its text ends in any case. */
function* listTokens(text: string): Iterable<string> {
  const ending = new RegExp(END);
  let end = 0;
  for (const { 0: scheme, index } of text.matchAll(BEGINNING)) {
    // Several may begin before the same end.
    if (index >= end) {
      ending.lastIndex = index + scheme.length;
      end = ending.exec(text)?.index ?? text.length;
    }
    yield text.slice(index, Math.min(end, index + URL_CHARACTERS_MAX + 1));
  }
}

/** The places where an address in running text may end, each once. */
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
    // As it stands in the source of a page.
    if (part.includes("&amp;")) ends.add(part.replaceAll("&amp;", "&"));
  }
  return ends;
}

/** What often stands right behind an address in a list, a table, a quotation or a script. */
const SEPARATOR = /[,;|'*^{}[\]]/;
/** A script without spaces goes on right behind an address. */
const FOREIGN = /[^\0-\x7f]/;
const OPENING: ReadonlyMap<string, string> = new Map([
  [")", "("],
  ["]", "["],
  ["}", "{"],
]);

/** The first bracket that closes what was opened before the address; -1: there is none. */
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

/** Where another address begins; -1: nowhere. */
function findNext(token: string): number {
  const rest = token.slice(1).search(/https?:\/\//i);
  return rest === -1 ? -1 : rest + 1;
}

const PUNCTUATION = ".,:;!?'*_~-|…،؛؟。，、；：！？）」』】》";

/** Without the punctuation of the sentence around it, and without brackets that are not its own. */
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

/** How many more of each bracket close than open. */
function countUnopened(part: string): Map<string, number> {
  const counts = [...OPENING].map(([closing, opening]): [string, number] => {
    return [closing, part.split(closing).length - part.split(opening).length];
  });
  return new Map(counts);
}

const LABEL = String.raw`[\p{L}\p{N}][\p{L}\p{N}-]{0,62}`;
const ENDING = String.raw`\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?(?![\p{L}\p{N}@-])`;
const BARE = new RegExp(String.raw`(?<![\p{L}\p{N}@._/:-])(?:${LABEL}\.){1,8}${ENDING}`, "gu");

/** What people write for an address, by place: a name with a dot, with or without a path. */
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
