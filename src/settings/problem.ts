// What is wrong with the settings, said in one sentence with the place where it was written.
import { shorten } from "../platform/text.ts";
import { findKeyLines } from "./key-lines.ts";

/** The settings cannot be used; the message is one sentence for people, without a secret. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

/** What environment and flags say over the file, by path; `name` is what a message calls it. */
export type Overrides = ReadonlyMap<string, { name: string; value: unknown }>;

/** Collects problems, so that the first of the file is the one that is told. */
export class Problems {
  readonly #file: string;
  readonly #text: string;
  readonly #overrides: Overrides;
  /** Only made when there is a problem to place: most starts have none. */
  #lines: Map<string, number> | undefined;
  #first: { line: number; sentence: string } | undefined;

  constructor(file: string, text: string, overrides: Overrides) {
    this.#file = file;
    this.#text = text;
    this.#overrides = overrides;
  }

  /** `says` continues the name of the setting: "must be …". */
  add(path: string, says: string) {
    const override = this.#overrides.get(path) ?? this.#overrides.get(cutLast(path));
    if (override) this.#keep(Number.POSITIVE_INFINITY, `${override.name} ${says}`);
    else this.#addAt(path, `${shorten(path)} ${says}`);
  }

  addUnknown(path: string, note: string, nearest: string | undefined) {
    const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
    this.#addAt(path, `unknown setting "${shorten(path)}"${note}${hint}`);
  }

  /** Throws the first problem, if there is one. */
  throwFirst() {
    if (this.#first) throw new SettingsError(this.#first.sentence);
  }

  #addAt(path: string, sentence: string) {
    const line = this.#findLine(path);
    if (line !== undefined) return this.#keep(line, `${this.#file}:${line}: ${sentence}`);
    const place = this.#text === "" ? "" : `${this.#file}: `;
    this.#keep(Number.POSITIVE_INFINITY, place + sentence);
  }

  #keep(line: number, sentence: string) {
    if (this.#first === undefined || line < this.#first.line) this.#first = { line, sentence };
  }

  /** The line of the setting or, where it is left out, of the table that lacks it. */
  #findLine(path: string): number | undefined {
    this.#lines ??= mapLines(this.#text);
    for (let place = path; place !== ""; place = cutLast(place)) {
      const line = this.#lines.get(place);
      if (line !== undefined) return line;
    }
    return undefined;
  }
}

function mapLines(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  for (const { path, line } of findKeyLines(text)) if (!lines.has(path)) lines.set(path, line);
  return lines;
}

/** A value as a message shows it, save addresses, which may hold a password. */
export function quote(value: unknown): string {
  const isShown = typeof value === "string" ? !/:\/\/|@/.test(value) : typeof value !== "object";
  if (!isShown) return nameKind(value);
  return typeof value === "string" ? JSON.stringify(shorten(value)) : String(value);
}

/** What kind of thing a value of the file is. */
export function nameKind(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (typeof value === "object") return "a table";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

function cutLast(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}
