// Reads the reply of a web server as a text for models.
import { type Content, type ContentHeaders, detectContent } from "./content.ts";
import { ZONES, type Zone } from "./elements.ts";
import { cleanVisible, type Section } from "./text-writer.ts";

const PIECE_BYTES = 8_192;
const TEXT_CHARACTERS_MAX = 1_000_000;
/** Minimum length of a main part that stands alone. */
const MAIN_CHARACTERS_MIN = 200;

export interface PageInput extends ContentHeaders {
  url: string;
  body: Uint8Array;
  isWhole: boolean;
}

export type Omission = "depth" | "length" | "sides";

export type PageText =
  | { ok: true; title: string; text: string; omissions: Omission[] }
  | { ok: false; problem: string };

export async function readPage(input: PageInput): Promise<PageText> {
  const { body } = input;
  if (body.length === 0) return { ok: false, problem: "The reply is empty." };
  const content = detectContent(input, body);
  if (content.kind === "unreadable") {
    const problem = `The reply is ${content.description}: only pages and texts can be read.`;
    return { ok: false, problem };
  }
  const page = await (content.kind === "text"
    ? readText(body, content.encoding)
    : readMarkup(input, content));
  if (page.text !== "") return { ok: true, ...page };
  const problem = page.omissions.includes("depth")
    ? "The elements of the page are nested too deep to be read."
    : "There is no text in the reply: the page may need a browser to run its scripts.";
  return { ok: false, problem };
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
  { url, body, isWhole }: PageInput,
  { kind, encoding }: Exclude<Content, { kind: "unreadable" }>,
): Promise<Read> {
  // Loaded on demand: most processes never read a page.
  const { MarkupReader } = await import("./markup.ts");
  const reader = new MarkupReader({ url, isXhtml: kind === "xhtml" });
  for (const piece of decode(body, encoding)) {
    reader.write(piece);
    if (reader.stop !== null) break;
  }
  reader.end();
  const { title, sections, stop } = reader;
  const zones = isWhole ? new Set(Object.values(ZONES)) : chooseZones(sections);
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

/** Chooses the main part where the page has one, or its articles if they are most of it. */
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
