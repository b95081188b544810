// Writes the text of a page: words with single spaces, lines, lists, tables and links.
import { ZONES, type Zone } from "./elements.ts";

/** Beyond so much of a line's beginning, deeper lists and quotations look the same. */
const PREFIX_CHARACTERS_MAX = 24;
const MARKER_CHARACTERS_MAX = 48;
const FENCE = "```";

/** Text of one zone, up to the place where another begins. */
export interface Section {
  zone: Zone;
  text: string;
}

/** Where a table is in its present row. */
export interface TableRow {
  /** How deep in tables; 0: in none. */
  depth: number;
  cells: number;
  /** Cells that have begun since the last words. */
  open: number;
  hasWords: boolean;
  /** No words have come since the cell began. */
  isFresh: boolean;
}

const NO_WORDS = { cells: 0, open: 0, hasWords: false, isFresh: false };

/** It keeps everything that words may need around them until words come. */
export class TextWriter {
  /** Everything so far; the last one grows. */
  readonly sections: Section[] = [];
  /** How long the sections are together, in UTF-16 units. */
  length = 0;
  /** Where the next words stand. */
  zone: Zone = ZONES.body;
  private prefix = "";
  /** What the line of the last words began with. */
  private lastPrefix = "";
  private marker = "";
  /** What the line of the marker begins with: an item's further lines stand further in. */
  private markerPrefix = "";
  private breaks: 0 | 1 | 2 = 0;
  private hasSpace = false;
  private row: TableRow = { depth: 0, ...NO_WORDS };
  private link: "none" | "wanted" | "open" = "none";
  private code: "none" | "wanted" | "open" = "none";

  /** White space is one space; at the beginning of a line it is nothing. */
  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      if (isSpace(text.charCodeAt(at))) {
        this.hasSpace = this.breaks === 0;
        at++;
        continue;
      }
      const start = at;
      while (at < text.length && !isSpace(text.charCodeAt(at))) at++;
      this.begin();
      this.put(text.slice(start, at));
    }
  }

  /** What follows stands so many lines further down, at least. */
  breakLine(count: 1 | 2): void {
    // The blocks inside a cell do not tear it from its row, nor those of an item from its bullet.
    if (this.row.isFresh || this.marker !== "") return;
    const most = this.row.depth > 0 ? 1 : count;
    if (most > this.breaks) this.breaks = most;
    this.hasSpace = false;
  }

  beginCode(): void {
    this.code = "wanted";
  }

  /** Between `beginCode` and `endCode`: text as it stands. */
  writeCode(text: string): void {
    if (this.code === "wanted") {
      this.breakLine(2);
      this.begin();
      this.put(FENCE);
      this.code = "open";
      // The line end behind the opening tag belongs to the tag.
      if (!text.startsWith("\n")) this.endLine();
    } else if (this.breaks > 0) this.endLine();
    this.breaks = 0;
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      this.put(text.slice(from, at));
      this.endLine();
      from = at + 1;
    }
    this.put(text.slice(from));
  }

  endCode(): void {
    if (this.code === "open") {
      if (!this.sections.at(-1)!.text.endsWith(`\n${this.prefix}`)) this.endLine();
      this.put(FENCE);
    }
    this.code = "none";
    this.breakLine(2);
  }

  /** Lines from now on begin with this too; what it answers takes it back by `leaveIndent`. */
  enterIndent(more: string): string {
    const before = this.prefix;
    if (before.length < PREFIX_CHARACTERS_MAX) this.prefix += more;
    return before;
  }

  leaveIndent(before: string): void {
    this.prefix = before;
  }

  /** Stands in front of the next words; `unmark` takes it back where none came. */
  mark(more: string): string {
    const before = this.marker;
    if (before === "") this.markerPrefix = this.prefix;
    if (before.length < MARKER_CHARACTERS_MAX) this.marker += more;
    return before;
  }

  unmark(before: string): void {
    if (this.marker !== "") this.marker = before;
  }

  /** The next words are a link's; `endLink` says where to. A link without words is none. */
  beginLink(): void {
    this.link = "wanted";
  }

  endLink(url: string): void {
    if (this.link === "open") this.put(`](${url})`);
    this.link = "none";
  }

  /** What it answers ends the table by `leaveTable`. */
  enterTable(): TableRow {
    const deps = this.row;
    this.row = { depth: deps.depth + 1, ...NO_WORDS };
    return deps;
  }

  leaveTable(deps: TableRow): void {
    deps.hasWords ||= this.row.hasWords;
    deps.isFresh = false;
    this.row = deps;
  }

  beginRow(): void {
    Object.assign(this.row, NO_WORDS);
  }

  beginCell(): void {
    const { row } = this;
    if (row.depth === 0) return;
    if (row.cells > 0) {
      row.open += 1;
      if (row.hasWords) this.breaks = 0;
    }
    row.cells += 1;
    row.isFresh = true;
  }

  private begin(): void {
    const prefix = this.marker === "" ? this.prefix : this.markerPrefix;
    const isNew = this.sections.at(-1)?.zone !== this.zone;
    const beginsLine = isNew || this.breaks > 0;
    if (isNew) {
      this.sections.push({ zone: this.zone, text: "" });
      // Two line ends will stand between them.
      this.length += 2;
      this.put(prefix);
    } else if (this.breaks > 0) {
      // What is quoted begins with its words, and ends with them.
      const outer = prefix.length < this.lastPrefix.length ? prefix : this.lastPrefix;
      if (this.breaks > 1) this.put(`\n${outer.trimEnd()}`);
      this.put(`\n${prefix}`);
    }
    this.breaks = 0;
    this.lastPrefix = this.prefix;
    this.beginCellWords(beginsLine);
    if (this.marker !== "") this.put(this.marker);
    this.marker = "";
    if (this.link === "wanted") {
      this.put("[");
      this.link = "open";
    }
  }

  private beginCellWords(beginsLine: boolean): void {
    const { row } = this;
    if (row.open > 0) {
      const bars = "| ".repeat(row.open);
      this.put(beginsLine ? bars : ` ${bars}`);
    } else if (this.hasSpace && !beginsLine) this.put(" ");
    this.hasSpace = false;
    row.open = 0;
    row.hasWords = true;
    row.isFresh = false;
  }

  private endLine(): void {
    this.put(`\n${this.prefix}`);
  }

  private put(text: string): void {
    this.sections.at(-1)!.text += text;
    this.length += text.length;
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0;
}
