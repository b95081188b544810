// Reads values by the table of settings: fills in defaults, and collects problems.
import { formatDuration } from "../platform/duration.ts";
import { type Field, listFields } from "./fields.ts";
import { FORMATS, type FormatName } from "./formats.ts";
import { findNearest } from "./nearest.ts";
import { nameKind, type Overrides, type Problems, quote } from "./problem.ts";
import { joinPath } from "./toml.ts";

type Fields = Readonly<Record<string, Field>>;
type TableValue = Readonly<Record<string, unknown>>;

export class Reader {
  readonly #table: Field;
  readonly #overrides: Overrides;
  readonly #problems: Problems;
  readonly #defaults: TableValue;

  /** `defaults` replace those of the table, by path. */
  constructor(table: Field, overrides: Overrides, problems: Problems, defaults: TableValue = {}) {
    this.#table = table;
    this.#overrides = overrides;
    this.#problems = problems;
    this.#defaults = defaults;
  }

  /** Returns the whole table, without the values that have problems. */
  read(value: unknown): unknown {
    return this.#readValue(this.#table, value, "");
  }

  #readValue(field: Field, value: unknown, path: string): unknown {
    if (field.anyOf) return this.#readVariant(field.anyOf, value, path);
    if (field.items) return this.#readList(field, field.items, value, path);
    if (field.type !== "object") return this.#readLeaf(field, value, path);
    if (!isTable(value)) return this.#refuseKind("a table", value, path);
    if (field.isOpen) return this.#readJson(value, path);
    if (field.patternProperties) return this.#readMap(field.patternProperties, value, path);
    return this.#readTable(field.properties!, value, path, "");
  }

  #readVariant(variants: readonly Field[], value: unknown, path: string): unknown {
    const tables = variants.filter((variant) => variant.type !== "null");
    if (value === null) return null;
    if (tables.length === 1) return this.#readValue(tables[0]!, value, path);
    if (!isTable(value)) return this.#refuseKind("a table", value, path);
    const kinds = tables.map((table) => String(table.properties!.kind!.const));
    const kind = Object.hasOwn(value, "kind") ? value.kind : undefined;
    const table = tables.find((_, index) => kinds[index] === kind);
    if (table) return this.#readTable(table.properties!, value, path, ` for kind "${kind}"`);
    if (kind === undefined) {
      this.#problems.add(`${path}.kind`, `is required: ${listWords(kinds)}`);
    } else this.#refuse({}, `must be ${listWords(kinds)}`, kind, `${path}.kind`);
  }

  #readTable(fields: Fields, table: TableValue, path: string, note: string) {
    const unknown = Object.keys(table).filter((name) => !Object.hasOwn(fields, name));
    for (const name of unknown) this.#refuseUnknown(name, Object.keys(fields), path, note);
    const value: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      const here = joinPath(path, name);
      const key = field.format === "duration" ? `${name}_ms` : name;
      const override = this.#overrides.get(here);
      if (override) value[key] = this.#readValue(field, override.value, here);
      else if (Object.hasOwn(table, name)) value[key] = this.#readValue(field, table[name], here);
      else if ("default" in field) {
        value[key] = this.#readValue(field, this.#defaults[here] ?? field.default, here);
      } else if (unknown.length === 0) this.#problems.add(here, "is required");
      // If a setting is unknown, it may be this one misspelt, and its message says more.
    }
    return value;
  }

  /** The table becomes JSON, which has no date and no infinity. */
  #readJson(value: unknown, path: string): unknown {
    const isInfinite = typeof value === "number" && !Number.isFinite(value);
    if (isInfinite || value instanceof Date) {
      return this.#problems.add(path, "cannot be written as JSON");
    }
    if (Array.isArray(value)) {
      return value.map((item, index) => this.#readJson(item, `${path}[${index}]`));
    }
    if (!isTable(value)) return value;
    const read = ([name, inner]: [string, unknown]) =>
      [name, this.#readJson(inner, joinPath(path, name))] as const;
    return Object.fromEntries(Object.entries(value).map(read));
  }

  #readMap(patterns: Fields, value: TableValue, path: string) {
    const field = Object.values(patterns)[0]!;
    const read = ([name, inner]: [string, unknown]) =>
      [name, this.#readValue(field, inner, joinPath(path, name))] as const;
    // fromEntries makes an own property of every name, `__proto__` included.
    return Object.fromEntries(Object.entries(value).map(read));
  }

  #readList(field: Field, items: Field, value: unknown, path: string) {
    if (!Array.isArray(value)) return this.#refuseKind("a list", value, path);
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = field;
    if (value.length < minItems) this.#problems.add(path, "must not be empty");
    if (value.length > maxItems) return this.#problems.add(path, `has more than ${maxItems} items`);
    const values = value.map((item, index) => this.#readValue(items, item, `${path}[${index}]`));
    const repeated = values.findIndex(
      (one, index) => one !== undefined && values.indexOf(one) < index,
    );
    if (field.uniqueItems && repeated >= 0) {
      this.#problems.add(`${path}[${repeated}]`, "stands in the list twice");
    }
    return values;
  }

  #readLeaf(field: Field, value: unknown, path: string): unknown {
    const problem = validateLeaf(field, value);
    if (problem !== undefined) return this.#refuse(field, problem, value, path);
    if (field.format === undefined) return value;
    try {
      const read = FORMATS[field.format as FormatName](value as string);
      if (field.format === "duration") validateDuration(field, read as number);
      return read;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#refuse(field, error.message, value, path);
    }
  }

  #refuse(field: Field, message: string, value: unknown, path: string): undefined {
    this.#problems.add(path, field.unquoted ? message : `${message}, but is ${quote(value)}`);
  }

  #refuseKind(kind: string, value: unknown, path: string): undefined {
    this.#problems.add(path, `must be ${kind}, but is ${nameKind(value)}`);
  }

  #refuseUnknown(name: string, siblings: string[], path: string, note: string) {
    const sibling = findNearest(name, siblings);
    // A right name in the wrong table is as common as a misspelt one.
    const elsewhere = listFields(this.#table).find(([known]) => known.split(".").at(-1) === name);
    const nearest = sibling === undefined ? elsewhere?.[0] : joinPath(path, sibling);
    this.#problems.addUnknown(joinPath(path, name), note, nearest);
  }
}

function isTable(value: unknown): value is TableValue {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

function validateLeaf(field: Field, value: unknown): string | undefined {
  const words = field.enum ?? (field.const === undefined ? undefined : [field.const]);
  if (words) return words.includes(value) ? undefined : `must be ${listWords(words)}`;
  if (field.type === "string") return validateText(field, value);
  if (field.type === "boolean") {
    return typeof value === "boolean" ? undefined : "must be true or false";
  }
  const { minimum, maximum } = field;
  const isWhole = field.type === "integer";
  const isNumber = isWhole ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (isNumber && (value as number) >= minimum! && (value as number) <= maximum!) return undefined;
  return `must be ${isWhole ? "an integer" : "a number"} from ${minimum} to ${maximum}`;
}

function validateText(field: Field, value: unknown): string | undefined {
  if (typeof value !== "string") return "must be text in quotes";
  const { minLength = 0, maxLength } = field;
  if (value.length < minLength && maxLength === undefined) return "must not be empty";
  if (value.length >= minLength && value.length <= (maxLength ?? value.length)) return undefined;
  return `must be text of ${minLength} to ${maxLength} characters`;
}

function validateDuration({ minimum = 0, maximum }: Field, durationMs: number) {
  if (durationMs >= minimum && durationMs <= maximum!) return;
  throw new RangeError(`must be from ${formatDuration(minimum)} to ${formatDuration(maximum!)}`);
}

function listWords(words: readonly unknown[]): string {
  const quoted = words.map((one) => JSON.stringify(one));
  return [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter(Boolean).join(" or ");
}
