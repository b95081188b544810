// A Markdown file as the rows of an index: its title, its link, its language and its plain text.
import type { FullTextRow } from "../../../database/index.ts";
import { readLink, stripMarkup } from "../results.ts";

/** Base of links; RFC 2606 reserves it, so they lead nowhere. */
const SITE = "https://search.example/";
const TITLE_CHARACTERS_MAX = 300;
/** Maximum characters of a row; snippets of longer ones take long. */
const ROW_CHARACTERS_MAX = 16_384;
const FRONT_MATTER =
  /^\ufeff?---[ \t]*\r?\n((?:.{0,4096}\r?\n){0,64}?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;
const FIELD = /^(title|url|lang)[ \t]*:[ \t]*(["']?)(.{0,2048}?)\2[ \t]*\r?$/gim;
const HEADING = /<h[1-6]>([\s\S]{0,2000}?)<\/h[1-6]>/;
const COMMENT = /<!--(?:(?!<!--)[\s\S])*?-->/g;
/** Pattern of deep nesting, for which the renderer takes quadratic time. */
const DEEP_NESTING = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*){16,}/gm;

export function readPage(path: string, markdown: string): FullTextRow[] {
  const front = FRONT_MATTER.exec(markdown);
  const fields = new Map<string, string>();
  for (const [, name, , value] of front?.[1]?.matchAll(FIELD) ?? []) {
    fields.set(name!.toLowerCase(), value!);
  }
  const body = markdown.slice(front?.[0].length ?? 0).replace(DEEP_NESTING, "");
  const html = Bun.markdown.html(body).replace(COMMENT, "");
  const heading = HEADING.exec(html);
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.[^.]*$/, "");
  const title = stripMarkup(fields.get("title") ?? heading?.[1] ?? "") || name;
  const url = readLink(fields.get("url") ?? "")?.href ?? writeLink(path);
  if (url === undefined) return [];
  const language = /^[a-z]{2}(?![a-z])/i.exec(fields.get("lang") ?? "")?.[0].toLowerCase() ?? null;
  const text = stripMarkup(heading ? html.replace(heading[0], " ") : html);
  const page = { title: title.slice(0, TITLE_CHARACTERS_MAX), url, language };
  return splitText(text).map((part) => ({ ...page, text: part }));
}

function writeLink(path: string): string | undefined {
  const names = path.replace(/\.[^./]*$/, "").split("/");
  return readLink(SITE + names.map((name) => encodeURIComponent(name.toWellFormed())).join("/"))
    ?.href;
}

/** Splits between words where possible; a page without a word has one empty part. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > ROW_CHARACTERS_MAX) {
    const space = text.lastIndexOf(" ", from + ROW_CHARACTERS_MAX);
    const end = space > from ? space : from + ROW_CHARACTERS_MAX;
    parts.push(text.slice(from, end));
    from = end;
  }
  return [...parts, text.slice(from)];
}
