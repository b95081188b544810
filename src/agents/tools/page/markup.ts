// Reads HTML as a text for models, piece by piece, in time and memory linear in its length.
import { Parser } from "htmlparser2";
import { URL_CHARACTERS_MAX } from "../../../platform/text.ts";
import {
  type Attributes,
  breakOf,
  HEADINGS,
  isAttribute,
  isHidden,
  LISTS,
  ZONES,
  type Zone,
  zoneOf,
} from "./elements.ts";
import { cleanVisible, type Section, type TableRow, TextWriter } from "./text-writer.ts";

/** Maximum depth, as each closing tag searches all open elements; real pages need a third. */
const DEPTH_MAX = 256;
/** Maximum length of the text, which may outgrow its source: links become whole addresses. */
const TEXT_CHARACTERS_MAX = 1_000_000;
const TITLE_CHARACTERS_MAX = 300;
const ALT_CHARACTERS_MAX = 300;
const ATTRIBUTE_CHARACTERS_MAX = 4_096;

interface OpenElement {
  name: string;
  isHidden: boolean;
  zone: Zone;
  indent?: string;
  marker?: string;
  row?: TableRow;
  url?: string | undefined;
  number?: number;
}

export interface MarkupOptions {
  url: string;
  isXhtml: boolean;
}

export class MarkupReader {
  stop: "depth" | "length" | null = null;
  readonly #writer = new TextWriter();
  readonly #parser: Parser;
  readonly #stack: OpenElement[] = [];
  readonly #url: string;
  #base: string;
  #name = "";
  #hidden = 0;
  #codes = 0;
  #titles = 0;
  #link: OpenElement | undefined;
  /** The latest tag; only the next event says that all its attributes are there. */
  #latest: { name: string; attributes: Attributes } | undefined;

  constructor({ url, isXhtml }: MarkupOptions) {
    this.#url = url;
    this.#base = url;
    this.#parser = new Parser(
      {
        onopentagname: (name) => {
          this.#settle();
          this.#latest = { name, attributes: {} };
        },
        // A form inside a form has no tag event; its attributes go to the tag before, harmlessly.
        onattribute: (name, value) => {
          if (!this.#latest || !isAttribute(name)) return;
          this.#latest.attributes[name] ??= value.slice(0, ATTRIBUTE_CHARACTERS_MAX);
        },
        onclosetag: () => {
          this.#settle();
          const open = this.#stack.pop();
          if (open) this.#close(open);
        },
        ontext: (text) => {
          this.#settle();
          this.#writeText(text);
        },
      },
      { recognizeSelfClosing: isXhtml, recognizeCDATA: isXhtml },
    );
  }

  write(piece: string): void {
    if (this.stop === null) this.#parser.write(piece);
  }

  end(): void {
    if (this.stop === null) this.#parser.end();
  }

  get sections(): readonly Section[] {
    return this.#writer.sections;
  }

  get title(): string {
    const words = cleanVisible(this.#name).split(/\s/).filter(Boolean).join(" ");
    return words.slice(0, TITLE_CHARACTERS_MAX).toWellFormed();
  }

  #settle(): void {
    if (!this.#latest || this.stop !== null) return;
    const { name, attributes } = this.#latest;
    this.#latest = undefined;
    this.#open(name, attributes);
    if (this.#stack.length >= DEPTH_MAX) this.#halt("depth");
  }

  #halt(bound: "depth" | "length"): void {
    this.stop = bound;
    this.#parser.pause();
  }

  #writeText(text: string): void {
    if (this.#titles > 0) {
      if (this.#name.length < TITLE_CHARACTERS_MAX) this.#name += text;
    } else if (this.#hidden === 0) {
      const visible = cleanVisible(text);
      if (this.#codes > 0) this.#writer.writeCode(visible);
      else this.#writer.write(visible);
      if (this.#writer.length > TEXT_CHARACTERS_MAX) this.#halt("length");
    }
  }

  #open(name: string, attributes: Attributes): void {
    const element: OpenElement = {
      name,
      isHidden: isHidden(name, attributes),
      zone: zoneOf(name, attributes.role, this.#stack.at(-1)?.zone ?? ZONES.body),
    };
    if (element.isHidden) this.#hidden += 1;
    if (name === "base") this.#rebase(attributes.href);
    if (this.#hidden === 0) {
      this.#writer.zone = element.zone;
      if (name === "tr") this.#writer.beginRow();
      this.#breakAround(name);
      this.#begin(element, attributes);
    }
    this.#stack.push(element);
  }

  #begin(element: OpenElement, attributes: Attributes): void {
    const writer = this.#writer;
    const { name } = element;
    const level = HEADINGS.get(name);
    if (level !== undefined) element.marker = writer.mark(`${"#".repeat(level)} `);
    else if (name === "ol") element.number = readStart(attributes.start);
    else if (name === "li") {
      element.marker = writer.mark(this.#takeBullet());
      element.indent = writer.enterIndent("  ");
    } else if (name === "blockquote") element.indent = writer.enterIndent("> ");
    else if (name === "dd") element.indent = writer.enterIndent("  ");
    else if (name === "pre") this.#beginCode();
    else if (name === "table") element.row = writer.enterTable();
    else if (name === "td" || name === "th") writer.beginCell();
    else if (name === "a") this.#openLink(element, attributes.href);
    else if (name === "img") this.#writeImage(attributes.alt);
    else if (name === "hr") writer.write("---");
    else if (name === "title") this.#titles += 1;
  }

  #close(element: OpenElement): void {
    const writer = this.#writer;
    const { name, marker, indent, row } = element;
    const wasHidden = this.#hidden > 0;
    if (element.isHidden) this.#hidden -= 1;
    if (wasHidden) return;
    if (name === "title") this.#titles -= 1;
    if (name === "pre" && --this.#codes === 0) writer.endCode();
    this.#closeLink(element);
    if (marker !== undefined) writer.unmark(marker);
    if (indent !== undefined) writer.leaveIndent(indent);
    if (row) writer.leaveTable(row);
    if (name !== "br") this.#breakAround(name);
    writer.zone = this.#stack.at(-1)?.zone ?? ZONES.body;
  }

  #breakAround(name: string): void {
    const count = breakOf(name);
    if (count === 0) return;
    const isInner = LISTS.has(name) && this.#stack.some((outer) => outer.name === "li");
    this.#writer.breakLine(isInner ? 1 : count);
  }

  #beginCode(): void {
    this.#codes += 1;
    if (this.#codes === 1) this.#writer.beginCode();
  }

  #takeBullet(): string {
    const list = this.#stack.findLast(({ name }) => LISTS.has(name));
    return list?.number === undefined ? "- " : `${list.number++}. `;
  }

  #openLink(element: OpenElement, href: string | undefined): void {
    // A link inside a link ends the outer one, as it does for browsers.
    if (this.#link) this.#closeLink(this.#link);
    const url = this.#codes === 0 ? resolveLink(href, this.#base) : undefined;
    if (url === undefined) return;
    element.url = url;
    this.#link = element;
    this.#writer.beginLink();
  }

  #closeLink(element: OpenElement): void {
    if (element.url === undefined) return;
    this.#writer.endLink(element.url);
    element.url = undefined;
    this.#link = undefined;
  }

  #writeImage(alt = ""): void {
    const words = cleanVisible(alt).trim().slice(0, ALT_CHARACTERS_MAX);
    if (words !== "" && this.#codes === 0) this.#writer.write(`(image: ${words})`);
  }

  /** Only the first base counts. */
  #rebase(href: string | undefined): void {
    const next = href === undefined || this.#base !== this.#url ? null : URL.parse(href, this.#url);
    if (next !== null && isWeb(next)) this.#base = next.href;
  }
}

function readStart(start: string | undefined): number {
  const number = Number(start ?? 1);
  return Number.isSafeInteger(number) && number >= 0 ? number : 1;
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

function resolveLink(href: string | undefined, base: string): string | undefined {
  const text = href?.trim() ?? "";
  if (text === "" || text.startsWith("#") || text.length > URL_CHARACTERS_MAX) return undefined;
  const url = URL.parse(text, base);
  if (url === null || !isWeb(url)) return undefined;
  // A fragment is never sent.
  url.hash = "";
  return url.href.length <= URL_CHARACTERS_MAX ? url.href : undefined;
}
