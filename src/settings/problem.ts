// Problems of settings: one sentence each, with the position where the setting stands.
import { shorten } from "../platform/text.ts";
import type { TomlPosition } from "./toml.ts";

/** The settings cannot be used; the message is one sentence for people, without a secret. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Values of environment and flags by path; messages call them by `name`. */
export type Overrides = ReadonlyMap<string, { name: string; value: unknown }>;

export class Problems {
  readonly #file: string;
  readonly #positions: ReadonlyMap<string, TomlPosition>;
  readonly #overrides: Overrides;
  #first: { line: number; sentence: string } | undefined;

  constructor(file: string, positions: ReadonlyMap<string, TomlPosition>, overrides: Overrides) {
    this.#file = file;
    this.#positions = positions;
    this.#overrides = overrides;
  }

  /** `message` continues the name of the setting: "must be …". */
  add(path: string, message: string): void {
    const override = this.#overrides.get(path) ?? this.#overrides.get(cutLast(path));
    if (override) this.#keep(Number.POSITIVE_INFINITY, `${override.name} ${message}`);
    else this.#addAt(path, `${shorten(path)} ${message}`);
  }

  /** Adds each fault that holds: a condition, the field below `path`, and what is wrong with it. */
  addEach(path: string, faults: readonly (readonly [boolean, string, string])[]): void {
    for (const [holds, field, message] of faults) if (holds) this.add(`${path}.${field}`, message);
  }

  addUnknown(path: string, note: string, nearest: string | undefined): void {
    const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
    this.#addAt(path, `unknown setting "${shorten(path)}"${note}${hint}`);
  }

  throwFirst(): void {
    if (this.#first) throw new SettingsError(this.#first.sentence);
  }

  #addAt(path: string, sentence: string): void {
    const position = this.#findPosition(path);
    if (position) {
      const { line, column } = position;
      this.#keep(line, `${this.#file}:${line}:${column}: ${sentence}`);
    } else {
      const place = this.#positions.size === 0 ? "" : `${this.#file}: `;
      this.#keep(Number.POSITIVE_INFINITY, place + sentence);
    }
  }

  #keep(line: number, sentence: string): void {
    if (this.#first === undefined || line < this.#first.line) this.#first = { line, sentence };
  }

  #findPosition(path: string): TomlPosition | undefined {
    for (let place = path; place !== ""; place = cutLast(place)) {
      const position = this.#positions.get(place);
      if (position) return position;
    }
    return undefined;
  }
}

/** Shows a value in a message, except addresses, which may hold a password. */
export function quote(value: unknown): string {
  const isShown = typeof value === "string" ? !/:\/\/|@/.test(value) : typeof value !== "object";
  if (!isShown) return nameKind(value);
  return typeof value === "string" ? JSON.stringify(shorten(value)) : String(value);
}

export function nameKind(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (typeof value === "object") return "a table";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

function cutLast(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}
