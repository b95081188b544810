// Writes the text of a page: words with single spaces, lines, lists, tables and links.
import { ZONES, type Zone } from "./elements.ts";

/** Maximum indentation; deeper lists and quotations are not indented further. */
const PREFIX_CHARACTERS_MAX = 24;
const MARKER_CHARACTERS_MAX = 48;
const FENCE = "```";

export interface Section {
  zone: Zone;
  text: string;
}

export interface TableRow {
  /** Tables around the row, itself included. */
  depth: number;
  cells: number;
  open: number;
  hasWords: boolean;
  /** Holds until words come after the cell's beginning. */
  isFresh: boolean;
}

const NO_WORDS = { cells: 0, open: 0, hasWords: false, isFresh: false };

/** Holds back line ends, markers and brackets until words follow them. */
export class TextWriter {
  readonly sections: Section[] = [];
  length = 0;
  zone: Zone = ZONES.body;
  #prefix = "";
  #lastPrefix = "";
  #marker = "";
  /** Prefix of the marker's line; further lines of an item are indented. */
  #markerPrefix = "";
  #breaks: 0 | 1 | 2 = 0;
  #hasSpace = false;
  #row: TableRow = { depth: 0, ...NO_WORDS };
  #link: "none" | "wanted" | "open" = "none";
  #code: "none" | "wanted" | "open" = "none";

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      if (isSpace(text.charCodeAt(at))) {
        this.#hasSpace = this.#breaks === 0;
        at++;
        continue;
      }
      const start = at;
      while (at < text.length && !isSpace(text.charCodeAt(at))) at++;
      this.#begin();
      this.#put(text.slice(start, at));
    }
  }

  breakLine(count: 1 | 2): void {
    // A block at the beginning of a cell or an item stays on its line.
    if (this.#row.isFresh || this.#marker !== "") return;
    const most = this.#row.depth > 0 ? 1 : count;
    if (most > this.#breaks) this.#breaks = most;
    this.#hasSpace = false;
  }

  beginCode(): void {
    this.#code = "wanted";
  }

  writeCode(text: string): void {
    if (this.#code === "wanted") {
      this.breakLine(2);
      this.#begin();
      this.#put(FENCE);
      this.#code = "open";
      // A line end behind the opening tag belongs to the tag.
      if (!text.startsWith("\n")) this.#endLine();
    } else if (this.#breaks > 0) this.#endLine();
    this.#breaks = 0;
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      this.#put(text.slice(from, at));
      this.#endLine();
      from = at + 1;
    }
    this.#put(text.slice(from));
  }

  endCode(): void {
    if (this.#code === "open") {
      if (!this.sections.at(-1)!.text.endsWith(`\n${this.#prefix}`)) this.#endLine();
      this.#put(FENCE);
    }
    this.#code = "none";
    this.breakLine(2);
  }

  /** Indents the lines from now on; `leaveIndent` takes the result to undo it. */
  enterIndent(more: string): string {
    const before = this.#prefix;
    if (before.length < PREFIX_CHARACTERS_MAX) this.#prefix += more;
    return before;
  }

  leaveIndent(before: string): void {
    this.#prefix = before;
  }

  /** Puts a marker before the next words; `unmark` takes the result to undo it if none came. */
  mark(more: string): string {
    const before = this.#marker;
    if (before === "") this.#markerPrefix = this.#prefix;
    if (before.length < MARKER_CHARACTERS_MAX) this.#marker += more;
    return before;
  }

  unmark(before: string): void {
    if (this.#marker !== "") this.#marker = before;
  }

  beginLink(): void {
    this.#link = "wanted";
  }

  endLink(url: string): void {
    if (this.#link === "open") this.#put(`](${url})`);
    this.#link = "none";
  }

  enterTable(): TableRow {
    const outer = this.#row;
    this.#row = { depth: outer.depth + 1, ...NO_WORDS };
    return outer;
  }

  leaveTable(outer: TableRow): void {
    outer.hasWords ||= this.#row.hasWords;
    outer.isFresh = false;
    this.#row = outer;
  }

  beginRow(): void {
    Object.assign(this.#row, NO_WORDS);
  }

  beginCell(): void {
    const row = this.#row;
    if (row.depth === 0) return;
    if (row.cells > 0) {
      row.open += 1;
      if (row.hasWords) this.#breaks = 0;
    }
    row.cells += 1;
    row.isFresh = true;
  }

  #begin(): void {
    const prefix = this.#marker === "" ? this.#prefix : this.#markerPrefix;
    const isNew = this.sections.at(-1)?.zone !== this.zone;
    const beginsLine = isNew || this.#breaks > 0;
    if (isNew) {
      this.sections.push({ zone: this.zone, text: "" });
      // Sections are joined by two line ends.
      this.length += 2;
      this.#put(prefix);
    } else if (this.#breaks > 0) {
      // An empty line between two blocks has the shorter prefix, so that no quotation grows.
      const outer = prefix.length < this.#lastPrefix.length ? prefix : this.#lastPrefix;
      if (this.#breaks > 1) this.#put(`\n${outer.trimEnd()}`);
      this.#put(`\n${prefix}`);
    }
    this.#breaks = 0;
    this.#lastPrefix = this.#prefix;
    this.#beginCellWords(beginsLine);
    if (this.#marker !== "") this.#put(this.#marker);
    this.#marker = "";
    if (this.#link === "wanted") {
      this.#put("[");
      this.#link = "open";
    }
  }

  #beginCellWords(beginsLine: boolean): void {
    const row = this.#row;
    if (row.open > 0) {
      const bars = "| ".repeat(row.open);
      this.#put(beginsLine ? bars : ` ${bars}`);
    } else if (this.#hasSpace && !beginsLine) this.#put(" ");
    this.#hasSpace = false;
    row.open = 0;
    row.hasWords = true;
    row.isFresh = false;
  }

  #endLine(): void {
    this.#put(`\n${this.#prefix}`);
  }

  #put(text: string): void {
    this.sections.at(-1)!.text += text;
    this.length += text.length;
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0;
}

/** Invisible characters that change how others look: joiners, marks of direction, variants. */
const KEPT = [
  String.raw`\t\n\f\r\u200c\u200d`,
  String.raw`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`,
  String.raw`\u180b-\u180d\ufe00-\ufe0f`,
].join("");
const UNSEEN = new RegExp(`[[\\p{Cc}\\p{Default_Ignorable_Code_Point}]--[${KEPT}]]`, "gv");

/** Removes characters without a shape, in which text can be hidden from people but not models. */
export function cleanVisible(text: string): string {
  return text.replace(UNSEEN, "");
}
