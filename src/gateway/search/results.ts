// The results of a search: the engine's hits with safe links and plain text.
import { decodeHTMLStrict } from "entities";
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

const ENTITY = /&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});/gi;

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
      .replace(ENTITY, (entity) => decodeHTMLStrict(entity))
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
