// Markdown as plain text: its words stay, its signs go, line by line in linear time.
import { readLink } from "../hits.ts";

export interface Markdown {
  /** Of the front matter, else the first heading; null: it has neither. */
  title: string | null;
  /** Of the front matter; null: none that can be followed. */
  url: string | null;
  /** Of the front matter, two small letters. */
  language: string | null;
  /** The lines of its text that have words; each is made plain as it is taken. */
  lines: Iterable<string>;
}

/** Longer lines are read as several, so that no line takes long. */
const LINE_CHARACTERS_MAX = 4_096;
const FRONT_LINES_MAX = 64;
/** The first heading is looked for in so many lines. */
const HEADING_LINES_MAX = 200;
const TITLE_CHARACTERS_MAX = 300;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ENDS_PARAGRAPH = /^(?:[ \t]*$| {0,3}(?:`{3}|~{3}))/;
const COMMENT = /^ {0,3}<!--/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*)$/;
/** Under a heading, between paragraphs or under a table's head. */
const RULE = /^[ \t]*[-=*_|:+][-=*_|:+ \t]*$/;
const DEFINITION = /^ {0,3}\[(?!\^)[^\][]{1,300}\]:[ \t]/;
/** What a line of a quotation, a list or a table begins with. */
const MARKER = /^[ \t]{0,80}(?:(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\|)[ \t]{0,80}){0,16}/;
const TASK = /^\[[ xX]\][ \t]/;
const LINK =
  /(?<!\\)!?\[([^\][]{0,1000})\](?:\((?:[^()]|\([^()]{0,300}\)){0,1000}\)|\[[^\][]{0,300}\])/g;
const ADDRESS = /<((?:https?:\/\/|mailto:)[^<>\s]{1,1000})>/g;
const TAG = /<\/?[A-Za-z][^<>]{0,1000}>|<!--.{0,500}?-->/g;
/** Tags inside a word or beside it; others stand between words. */
const INLINE =
  /<\/?(?:a|b|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u)(?:\s[^<>]{0,1000})?>/gi;
const STARS = /(?<!\s|^|\\)\*{1,9}|(?<!\\)\*{1,9}(?!\s|$)|~~|`/g;
const UNDERLINES = /(?<![\p{L}\p{N}_\\])_{1,9}|(?<!\\)_{1,9}(?![\p{L}\p{N}_])/gu;
const ESCAPED = /\\([!-/:-@[-`{-~])/g;
const ENTITY = /&(amp|lt|gt|quot|nbsp|#39);/g;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  nbsp: " ",
  "#39": "'",
};

export function readMarkdown(text: string): Markdown {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  const { fields, begin } = readFrontMatter(lines);
  if (text.includes("<!--")) hideComments(lines, begin);
  const heading = findHeading(lines, begin);
  const title = clean(fields.get("title") ?? heading?.text ?? "").slice(0, TITLE_CHARACTERS_MAX);
  const url = fields.get("url") ?? "";
  const lang = /^[a-z]{2}(?![a-z])/i.exec(fields.get("lang") ?? "")?.[0];
  return {
    title: title === "" ? null : title.toWellFormed(),
    url: readLink(url)?.href ?? null,
    language: lang?.toLowerCase() ?? null,
    // A heading that has become the title would only be said twice.
    lines: listPlain(lines, begin, fields.has("title") ? -1 : (heading?.line ?? -1)),
  };
}

/** Simple `key: value` lines between two lines of `---`; whatever else stands there is ignored. */
function readFrontMatter(lines: readonly string[]) {
  const fields = new Map<string, string>();
  const end = lines[0]?.trimEnd() === "---" ? findFrontEnd(lines) : -1;
  for (const line of lines.slice(1, Math.max(1, end))) {
    // The time for its spaces would grow with those behind them.
    if (line.length > LINE_CHARACTERS_MAX) continue;
    const [, key, value = ""] = /^([A-Za-z_-]{1,32})[ \t]*:[ \t]*(.{0,2048})$/.exec(line) ?? [];
    if (key === undefined) continue;
    const bare = value.trim();
    const quoted = /^"(.*)"$|^'(.*)'$/.exec(bare);
    fields.set(key.toLowerCase(), quoted?.[1] ?? quoted?.[2] ?? bare);
  }
  return { fields, begin: end + 1 };
}

function findFrontEnd(lines: readonly string[]): number {
  const head = lines.slice(0, FRONT_LINES_MAX);
  return head.findIndex((line, at) => at > 0 && /^(?:---|\.\.\.)[ \t]*$/.test(line));
}

/**
 * Comments over however many lines, or to the end of the paragraph that they stand in: what a page
 * does not show is not found either. One that never ends is shown, lest a slip hides all the rest.
 */
function hideComments(lines: string[], begin: number): void {
  const judge = createFence();
  /** No paragraph's comment ends before this line. */
  let endless = begin;
  for (let at = begin; at < lines.length; at++) {
    const line = lines[at]!;
    if (judge(line) !== "text") continue;
    const isBlock = COMMENT.test(line);
    const from = isBlock ? line.indexOf("<!--") : line.lastIndexOf("<!--");
    if (from === -1 || (!isBlock && at < endless)) continue;
    let last = at;
    let end = line.indexOf("-->", from + 4);
    // In one line it goes with the tags.
    if (end !== -1 && !isBlock) continue;
    while (end === -1 && ++last < lines.length && (isBlock || !ENDS_PARAGRAPH.test(lines[last]!))) {
      end = lines[last]!.indexOf("-->");
    }
    endless = last;
    // Behind a block's beginning no end stands anywhere.
    if (end === -1 && isBlock) return;
    if (end === -1) continue;
    const rest = lines[last]!.slice(end + 3);
    lines.fill("", at, last + 1);
    lines[at] = line.slice(0, from);
    lines[last] += rest;
    at = last;
  }
}

function findHeading(lines: readonly string[], begin: number) {
  const judge = createFence();
  for (let line = begin; line < Math.min(lines.length, begin + HEADING_LINES_MAX); line++) {
    const one = lines[line]!.slice(0, LINE_CHARACTERS_MAX);
    if (judge(one) !== "text") continue;
    const [, inside] = HEADING.exec(one) ?? [];
    const isUnderlined = /^ {0,3}(?:={2,}|-{2,})[ \t]*$/.test(lines[line + 1] ?? "");
    const plain = makePlain(inside ?? (isUnderlined ? one : ""));
    if (plain !== "") return { line, text: plain };
  }
  return null;
}

function* listPlain(lines: readonly string[], begin: number, titleLine: number) {
  const judge = createFence();
  for (let at = begin; at < lines.length; at++) {
    const line = lines[at]!;
    const kind = judge(line);
    if (at === titleLine || kind === "fence" || line === "") continue;
    if (kind === "text" && (RULE.test(line) || DEFINITION.test(line))) continue;
    for (const piece of cutLine(line)) {
      const plain = kind === "code" ? clean(piece) : makePlain(piece);
      if (plain !== "") yield plain;
    }
  }
}

/** A long line in pieces, between words where there are any. */
function* cutLine(line: string): Generator<string> {
  let from = 0;
  while (line.length - from > LINE_CHARACTERS_MAX) {
    const gap = line.lastIndexOf(" ", from + LINE_CHARACTERS_MAX);
    const until = gap > from + LINE_CHARACTERS_MAX / 2 ? gap : from + LINE_CHARACTERS_MAX;
    yield line.slice(from, until);
    from = until;
  }
  yield line.slice(from);
}

/** Told line after line, it says of each whether it is code, or stands around code. */
function createFence(): (line: string) => "text" | "code" | "fence" {
  let open: string | null = null;
  return (line) => {
    const sign = FENCE.exec(line)?.[1];
    if (open === null) {
      if (sign === undefined) return "text";
      open = sign;
      return "fence";
    }
    if (!sign?.startsWith(open)) return "code";
    open = null;
    return "fence";
  };
}

function makePlain(line: string): string {
  const bare = line.replace(HEADING, "$1").replace(MARKER, "").replace(TASK, "");
  const words = bare
    .replace(LINK, "$1")
    // What an image was linked from.
    .replace(LINK, "$1")
    .replace(ADDRESS, "$1")
    .replace(INLINE, "")
    .replace(TAG, " ")
    .replace(STARS, "")
    .replace(UNDERLINES, "")
    .replace(/[ \t]#{1,6}$/, "")
    .replaceAll(" | ", " ")
    .replace(/ ?\|[ \t]*$/, "")
    .replace(ESCAPED, "$1")
    .replace(ENTITY, (_, name: string) => ENTITIES[name]!);
  return clean(words);
}

/** Without control characters, which SQLite would end a text at. */
function clean(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, " ").trim();
}
