// The results of a search: the engine's hits with safe links and plain text.
import type { SearchHit } from "./contract.ts";
import type { SearchResult } from "./schema.ts";

const TITLE_CHARACTERS_MAX = 300;
const SNIPPET_CHARACTERS_MAX = 2_000;
/** Maximum length of a link for browsers and servers. */
const LINK_CHARACTERS_MAX = 4_096;

/** gateway.resources.search_result.p1: safe links, each once, in the engine's order. */
export function chooseResults(hits: readonly SearchHit[], resultsMax: number): SearchResult[] {
  const results = new Map<string, SearchResult>();
  for (const hit of hits) {
    if (results.size === resultsMax) break;
    const link = readLink(hit.url);
    if (!link || results.has(link.href)) continue;
    results.set(link.href, {
      object: "search_result",
      index: results.size,
      title: readPlainText(hit.title, TITLE_CHARACTERS_MAX) || link.host,
      url: link.href,
      snippet: readPlainText(hit.snippet, SNIPPET_CHARACTERS_MAX),
    });
  }
  return [...results.values()];
}

/** Returns null for a link that could run a script, read a file, or hide its host. */
export function readLink(text: string): URL | null {
  const link = text.length <= LINK_CHARACTERS_MAX ? URL.parse(text) : null;
  // Parsing encodes foreign letters, which makes links longer.
  if (!link || link.href.length > LINK_CHARACTERS_MAX) return null;
  if (link.protocol !== "https:" && link.protocol !== "http:") return null;
  return link.username === "" && link.password === "" ? link : null;
}

/** Maximum markup that is read of one text, far above what reaches a caller. */
const RAW_CHARACTERS_MAX = 20_000;

/**
 * Pattern of HTML's own tags only, since a snippet about code may hold `Array<string>`. No part of
 * the pattern repeats over another one, which keeps the time linear.
 */
const TAG = /<(?:\/?([a-z][a-z0-9]{0,15})(?=[\s/>])[^<>]*|!(?:--|doctype)[^<>]*)>/gi;
const INLINE = new Set(
  (
    "a abbr b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q s samp " +
    "script small span strike strong style sub sup svg time tt u var wbr"
  ).split(" "),
);
const BLOCK = new Set(
  (
    "address article aside blockquote body br button center dd details div dl dt fieldset " +
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link " +
    "main meta nav ol option p pre section select summary table tbody td textarea tfoot th thead " +
    "title tr ul video"
  ).split(" "),
);

const ENTITY = /&(?:#([0-9]{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,15}));/gi;
const NAMED = nameEntities();

/**
 * Characters that show or hide other letters than the text has: controls, forced directions,
 * byte-order marks and tags, an alphabet that only machines see.
 */
const TRICKS = /(?!\s)\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

function readPlainText(markup: string, charactersMax: number): string {
  return cutText(stripMarkup(markup.slice(0, RAW_CHARACTERS_MAX)), charactersMax);
}

export function stripMarkup(markup: string): string {
  return (
    markup
      .toWellFormed()
      .replace(TAG, replaceTag)
      // Entities come last: a tag that they spell is text of the page and stays.
      .replace(ENTITY, replaceEntity)
      .replace(TRICKS, "")
      .replace(/\s+/g, " ")
      .trim()
  );
}

function replaceTag(tag: string, name: string | undefined): string {
  const element = name?.toLowerCase();
  if (element === undefined || INLINE.has(element)) return "";
  // Another line or cell is another word.
  return BLOCK.has(element) ? " " : tag;
}

function replaceEntity(entity: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED.get(name) ?? entity;
  const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
  // HTML reads these numbers as Windows-1252, which many pages still mean.
  if (code >= 0x80 && code <= 0x9f) return WINDOWS.decode(Uint8Array.of(code));
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  return isSurrogate || code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
}

const WINDOWS = new TextDecoder("windows-1252");

function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  let count = 0;
  let end = 0;
  let at = 0;
  for (const character of text) {
    count += 1;
    if (count === charactersMax) end = at;
    if (count > charactersMax) return `${text.slice(0, end).trimEnd()}…`;
    at += character.length;
  }
  return text;
}

function nameEntities(): ReadonlyMap<string, string> {
  const latin =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg " +
    "plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest " +
    "Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute " +
    "Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml " +
    "Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc " +
    "euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash " +
    "ugrave uacute ucirc uuml yacute thorn yuml";
  // Pairs of name and character, between plain spaces.
  const others =
    "amp & lt < gt > quot \" apos ' hellip … mdash — ndash – lsquo ‘ rsquo ’ sbquo ‚ ldquo “ " +
    "rdquo ” bdquo „ lsaquo ‹ rsaquo › bull • prime ′ Prime ″ trade ™ euro € minus − ensp \u2002 " +
    "emsp \u2003 thinsp \u2009 zwnj \u200c zwj \u200d larr ← rarr → uarr ↑ darr ↓ harr ↔ ne ≠ " +
    "le ≤ ge ≥ asymp ≈ infin ∞ OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ dagger † check ✓";
  const words = others.split(" ");
  const named = new Map<string, string>();
  for (let at = 0; at < words.length; at += 2) named.set(words[at]!, words[at + 1]!);
  for (const [index, name] of latin.split(" ").entries()) {
    named.set(name, String.fromCharCode(0xa0 + index));
  }
  return named;
}
