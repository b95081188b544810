// Reads HTML as a text for models, piece by piece, in time and memory that follow its length.
import { Parser } from "htmlparser2";
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
import { isWeb, resolveLink } from "./link.ts";
import { type Section, type TableRow, TextWriter } from "./text-writer.ts";
import { cleanVisible } from "./visible.ts";

/** Each open element costs every closing tag a look; no page that is read nests a third of it. */
const DEPTH_MAX = 256;
/** A link of a few letters can become a whole address: the text may grow beyond its source. */
const TEXT_CHARACTERS_MAX = 1_000_000;
const TITLE_CHARACTERS_MAX = 300;
const ALT_CHARACTERS_MAX = 300;
const ATTRIBUTE_CHARACTERS_MAX = 4_096;

/** What an open element changes until it is closed; null: it does not. */
interface Open {
  name: string;
  is_hidden: boolean;
  zone: Zone;
  indent: string | null;
  marker: string | null;
  row: TableRow | null;
  url: string | null;
  /** Of a list: its next number. */
  number: number | null;
}

const UNCHANGED = { indent: null, marker: null, row: null, url: null, number: null };

export interface MarkupOptions {
  /** What the page's links start from. */
  url: string;
  /** Elements may close themselves, as in `<script/>`. */
  isXhtml: boolean;
}

/** Reads one page; what is hidden, and what is no text, is left out. */
export class MarkupReader {
  /** Why the page is read no further; null: nothing keeps it. */
  stop: "depth" | "length" | null = null;
  private readonly writer = new TextWriter();
  private readonly parser: Parser;
  private readonly stack: Open[] = [];
  private readonly url: string;
  private base: string;
  private name = "";
  private hidden = 0;
  private codes = 0;
  private titles = 0;
  private link: Open | null = null;
  /** The latest tag: its attributes follow it, and nothing says when they are all there. */
  private latest: { name: string; attributes: Attributes } | null = null;

  constructor({ url, isXhtml }: MarkupOptions) {
    this.url = url;
    this.base = url;
    this.parser = new Parser(
      {
        onopentagname: (name) => {
          this.settle();
          this.latest = { name, attributes: {} };
        },
        // Of a form inside a form, which is none, they come to the tag before: it does no harm.
        onattribute: (name, value) => {
          if (this.latest === null || !isAttribute(name)) return;
          this.latest.attributes[name] ??= value.slice(0, ATTRIBUTE_CHARACTERS_MAX);
        },
        onclosetag: () => {
          this.settle();
          const open = this.stack.pop();
          if (open) this.close(open);
        },
        ontext: (text) => {
          this.settle();
          this.hear(text);
        },
      },
      { recognizeSelfClosing: isXhtml, recognizeCDATA: isXhtml },
    );
  }

  /** Takes the next piece, unless something has stopped it. */
  take(piece: string): void {
    if (this.stop === null) this.parser.write(piece);
  }

  /** Behind the last piece: everything that is open is closed. */
  end(): void {
    if (this.stop === null) this.parser.end();
  }

  get sections(): readonly Section[] {
    return this.writer.sections;
  }

  /** Empty: the page has none. */
  get title(): string {
    const words = cleanVisible(this.name).split(/\s/).filter(Boolean).join(" ");
    return words.slice(0, TITLE_CHARACTERS_MAX).toWellFormed();
  }

  private settle(): void {
    if (this.latest === null || this.stop !== null) return;
    const { name, attributes } = this.latest;
    this.latest = null;
    this.open(name, attributes);
    if (this.stack.length >= DEPTH_MAX) this.halt("depth");
  }

  private halt(why: "depth" | "length"): void {
    this.stop = why;
    this.parser.pause();
  }

  private hear(text: string): void {
    if (this.titles > 0) {
      if (this.name.length < TITLE_CHARACTERS_MAX) this.name += text;
    } else if (this.hidden === 0) {
      const visible = cleanVisible(text);
      if (this.codes > 0) this.writer.writeCode(visible);
      else this.writer.write(visible);
      if (this.writer.length > TEXT_CHARACTERS_MAX) this.halt("length");
    }
  }

  private open(name: string, attributes: Attributes): void {
    const zone = zoneOf(name, attributes.role, this.stack.at(-1)?.zone ?? ZONES.body);
    const is_hidden = isHidden(name, attributes);
    const one: Open = { name, is_hidden, zone, ...UNCHANGED };
    if (is_hidden) this.hidden += 1;
    if (name === "base") this.rebase(attributes.href);
    if (this.hidden === 0) {
      this.writer.zone = zone;
      if (name === "tr") this.writer.beginRow();
      this.breakAround(name);
      this.begin(one, attributes);
    }
    this.stack.push(one);
  }

  private begin(one: Open, attributes: Attributes): void {
    const { writer } = this;
    const { name } = one;
    const level = HEADINGS.get(name);
    if (level !== undefined) one.marker = writer.mark(`${"#".repeat(level)} `);
    else if (name === "ol") one.number = readStart(attributes.start);
    else if (name === "li") {
      one.marker = writer.mark(this.takeBullet());
      one.indent = writer.enterIndent("  ");
    } else if (name === "blockquote") one.indent = writer.enterIndent("> ");
    else if (name === "dd") one.indent = writer.enterIndent("  ");
    else if (name === "pre") this.beginCode();
    else if (name === "table") one.row = writer.enterTable();
    else if (name === "td" || name === "th") writer.beginCell();
    else if (name === "a") this.openLink(one, attributes.href);
    else if (name === "img") this.writeImage(attributes.alt);
    else if (name === "hr") writer.write("---");
    else if (name === "title") this.titles += 1;
  }

  private close(one: Open): void {
    const { writer } = this;
    const { name } = one;
    const was_hidden = this.hidden > 0;
    if (one.is_hidden) this.hidden -= 1;
    if (was_hidden) return;
    if (name === "title") this.titles -= 1;
    if (name === "pre" && --this.codes === 0) writer.endCode();
    this.closeLink(one);
    if (one.marker !== null) writer.unmark(one.marker);
    if (one.indent !== null) writer.leaveIndent(one.indent);
    if (one.row !== null) writer.leaveTable(one.row);
    // A line end that stands alone has no inside.
    if (name !== "br") this.breakAround(name);
    writer.zone = this.stack.at(-1)?.zone ?? ZONES.body;
  }

  private breakAround(name: string): void {
    const count = breakOf(name);
    if (count === 0) return;
    const isInner = LISTS.has(name) && this.stack.some((outer) => outer.name === "li");
    this.writer.breakLine(isInner ? 1 : count);
  }

  private beginCode(): void {
    this.codes += 1;
    if (this.codes === 1) this.writer.beginCode();
  }

  private takeBullet(): string {
    const list = this.stack.findLast(({ name }) => LISTS.has(name));
    if (list === undefined || list.number === null) return "- ";
    list.number += 1;
    return `${list.number - 1}. `;
  }

  private openLink(one: Open, href: string | undefined): void {
    // A link inside a link ends the outer one, as it does for browsers.
    if (this.link !== null) this.closeLink(this.link);
    if (this.codes === 0) one.url = resolveLink(href, this.base);
    if (one.url === null) return;
    this.link = one;
    this.writer.beginLink();
  }

  private closeLink(one: Open): void {
    if (one.url === null) return;
    this.writer.endLink(one.url);
    one.url = null;
    this.link = null;
  }

  private writeImage(alt = ""): void {
    const words = cleanVisible(alt).trim().slice(0, ALT_CHARACTERS_MAX);
    if (words !== "" && this.codes === 0) this.writer.write(`(image: ${words})`);
  }

  /** The first one counts. */
  private rebase(href: string | undefined): void {
    const next = href === undefined || this.base !== this.url ? null : URL.parse(href, this.url);
    if (next !== null && isWeb(next)) this.base = next.href;
  }
}

function readStart(start: string | undefined): number {
  const number = Number(start ?? 1);
  return Number.isSafeInteger(number) && number >= 0 ? number : 1;
}
