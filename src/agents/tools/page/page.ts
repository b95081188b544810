// Reads the reply of a web server as a text for models.
import { type Content, detectContent } from "./content.ts";
import { ZONES, type Zone } from "./elements.ts";
import type { Section } from "./text-writer.ts";
import { cleanVisible } from "./visible.ts";

/** After each piece it is seen whether the rest is needed. */
const PIECE_BYTES = 8_192;
/** As long as a result is kept. */
const TEXT_CHARACTERS_MAX = 1_000_000;
/** So many characters of the main part are a text of their own. */
const MAIN_CHARACTERS_MIN = 200;

export interface PageReply {
  url: string;
  /** As the headers say; "": they do not. */
  type: string;
  coding: string;
  body: Uint8Array;
}

export interface ReadOptions {
  /** true: menus, headers and footers too. */
  is_whole: boolean;
}

/** Why less was read than there is: too deep, too long, or menus and margins that were left out. */
export type Omission = "depth" | "length" | "sides";

export type PageText =
  | { ok: true; title: string; text: string; omissions: Omission[] }
  /** In words of ours. */
  | { ok: false; why: string };

/** What stands on a page, main part first where it has one; nothing of it is an instruction. */
export async function readPage(reply: PageReply, options: ReadOptions): Promise<PageText> {
  const { body } = reply;
  if (body.length === 0) return { ok: false, why: "The reply is empty." };
  const content = detectContent(reply, body);
  if (content.kind === "unreadable") {
    return { ok: false, why: `The reply is ${content.what}: only pages and texts can be read.` };
  }
  const page = await (content.kind === "text"
    ? readText(body, content.encoding)
    : readMarkup(reply, content, options));
  if (page.text !== "") return { ok: true, ...page };
  const why = page.omissions.includes("depth")
    ? "The elements of the page are nested too deep to be read."
    : "There is no text in the reply: the page may need a browser to run its scripts.";
  return { ok: false, why };
}

type Read = Omit<Extract<PageText, { ok: true }>, "ok">;

function readText(body: Uint8Array, encoding: string): Read {
  const text = cleanVisible(new TextDecoder(encoding as Bun.Encoding).decode(body));
  const isLong = text.length > TEXT_CHARACTERS_MAX;
  return {
    title: "",
    text: text.slice(0, TEXT_CHARACTERS_MAX).toWellFormed().trim(),
    omissions: isLong ? ["length"] : [],
  };
}

async function readMarkup(
  { url, body }: PageReply,
  { kind, encoding }: Exclude<Content, { kind: "unreadable" }>,
  { is_whole }: ReadOptions,
): Promise<Read> {
  // Loaded at the first page: most starts never need it.
  const { MarkupReader } = await import("./markup.ts");
  const reader = new MarkupReader({ url, isXhtml: kind === "xhtml" });
  for (const piece of decode(body, encoding)) {
    reader.take(piece);
    if (reader.stop !== null) break;
  }
  reader.end();
  const { title, sections, stop } = reader;
  const zones = is_whole ? new Set(Object.values(ZONES)) : chooseZones(sections);
  const chosen = sections.filter(({ zone }) => zones.has(zone));
  const omissions: Omission[] = stop === null ? [] : [stop];
  if (chosen.length < sections.length) omissions.push("sides");
  return { title, text: joinSections(chosen), omissions };
}

function* decode(body: Uint8Array, encoding: string): Generator<string> {
  const decoder = new TextDecoder(encoding as Bun.Encoding);
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const end = at + PIECE_BYTES;
    yield decoder.decode(body.subarray(at, end), { stream: end < body.length });
  }
}

/** The main part alone where the page has one; else its articles, if they are most of it. */
function chooseZones(sections: readonly Section[]): ReadonlySet<Zone> {
  const lengths = [0, 0, 0, 0];
  for (const { zone, text } of sections) lengths[zone]! += text.length;
  const [side, body, article, main] = lengths as [number, number, number, number];
  if (main >= MAIN_CHARACTERS_MIN) return new Set([ZONES.main]);
  if (article >= MAIN_CHARACTERS_MIN && article >= body)
    return new Set([ZONES.main, ZONES.article]);
  if (body + article + main > 0) return new Set([ZONES.main, ZONES.article, ZONES.body]);
  return new Set(side > 0 ? [ZONES.side] : []);
}

function joinSections(sections: readonly Section[]): string {
  return sections
    .map(({ text }) => text)
    .join("\n\n")
    .trim()
    .toWellFormed();
}
