// What of a search engine's hits reaches a caller: safe links, each once, with plain words.
import type { SearchHit } from "./contract.ts";
import type { Result } from "./reply.ts";
import { readPlainText } from "./text.ts";

const TITLE_CHARACTERS_MAX = 300;
const SNIPPET_CHARACTERS_MAX = 2_000;
/** Browsers and servers take no longer ones; an image in a link's place is far longer. */
const LINK_CHARACTERS_MAX = 4_096;

/** gateway.resources.search_result.p1: at most `resultsMax`, in the engine's order. */
export function chooseResults(hits: readonly SearchHit[], resultsMax: number): Result[] {
  const results = new Map<string, Result>();
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

/**
 * null: whoever follows it could run a script, read a file, or take a name in front of the host
 * for the host. Without that name it would be another page's link: the whole hit goes.
 */
export function readLink(text: string): URL | null {
  const link = text.length <= LINK_CHARACTERS_MAX ? URL.parse(text) : null;
  // It is longer behind the parsing, which writes every foreign letter as several.
  if (!link || link.href.length > LINK_CHARACTERS_MAX) return null;
  if (link.protocol !== "https:" && link.protocol !== "http:") return null;
  return link.username === "" && link.password === "" ? link : null;
}
