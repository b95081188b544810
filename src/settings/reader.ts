// Walks the table and what was given side by side: fills in defaults, collects what is wrong.
import { formatDuration } from "../platform/duration.ts";
import { type Field, listFields } from "./field.ts";
import { FORMATS, type FormatName } from "./formats.ts";
import { joinPath } from "./key-lines.ts";
import { findNearest } from "./nearest.ts";
import { nameKind, type Overrides, type Problems, quote } from "./problem.ts";

type Fields = Readonly<Record<string, Field>>;
type Given = Readonly<Record<string, unknown>>;

export class Reader {
  readonly #table: Field;
  readonly #overrides: Overrides;
  readonly #problems: Problems;

  constructor(table: Field, overrides: Overrides, problems: Problems) {
    this.#table = table;
    this.#overrides = overrides;
    this.#problems = problems;
  }

  /** The value of the whole table; with a problem found, there are holes in it. */
  read(given: unknown): unknown {
    return this.#readValue(this.#table, given, "");
  }

  #readValue(field: Field, given: unknown, path: string): unknown {
    if (field.anyOf) return this.#readVariant(field.anyOf, given, path);
    if (field.items) return this.#readList(field, field.items, given, path);
    if (field.type !== "object") return this.#readLeaf(field, given, path);
    if (!isTable(given)) return this.#refuseKind("a table", given, path);
    if (field.any_fields) return this.#readJson(given, path);
    if (field.patternProperties) return this.#readMap(field.patternProperties, given, path);
    return this.#readTable(field.properties!, given, path, "");
  }

  /** What may be null is that or its one other variant; of several tables `kind` names one. */
  #readVariant(variants: readonly Field[], given: unknown, path: string): unknown {
    const tables = variants.filter((variant) => variant.type !== "null");
    if (given === null) return null;
    if (tables.length === 1) return this.#readValue(tables[0]!, given, path);
    if (!isTable(given)) return this.#refuseKind("a table", given, path);
    const kinds = tables.map((table) => String(table.properties!.kind!.const));
    const kind = Object.hasOwn(given, "kind") ? given.kind : undefined;
    const table = tables.find((_, index) => kinds[index] === kind);
    if (table) return this.#readTable(table.properties!, given, path, ` for kind "${kind}"`);
    const says = `${kind === undefined ? "is required:" : "must be"} ${listWords(kinds)}`;
    if (kind === undefined) this.#problems.add(`${path}.kind`, says);
    else this.#refuse({}, says, kind, `${path}.kind`);
  }

  #readTable(fields: Fields, given: Given, path: string, note: string) {
    const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name));
    for (const name of unknown) this.#refuseUnknown(name, Object.keys(fields), path, note);
    const value: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      const here = joinPath(path, name);
      const key = field.format === "duration" ? `${name}_ms` : name;
      const override = this.#overrides.get(here);
      if (override) value[key] = this.#readValue(field, override.value, here);
      else if (Object.hasOwn(given, name)) value[key] = this.#readValue(field, given[name], here);
      else if ("default" in field) value[key] = this.#readValue(field, field.default, here);
      else if (unknown.length === 0) this.#problems.add(here, "is required");
      // Else the unknown one may well be this one with a slip of the pen, which says more.
    }
    return value;
  }

  /** A table that goes out as JSON, in which a date and infinity have no form. */
  #readJson(given: unknown, path: string): unknown {
    const isFormless = typeof given === "number" && !Number.isFinite(given);
    if (isFormless || given instanceof Date) {
      return this.#problems.add(path, "cannot be written as JSON");
    }
    if (Array.isArray(given)) {
      return given.map((item, index) => this.#readJson(item, `${path}[${index}]`));
    }
    if (!isTable(given)) return given;
    const read = ([name, inner]: [string, unknown]) =>
      [name, this.#readJson(inner, joinPath(path, name))] as const;
    return Object.fromEntries(Object.entries(given).map(read));
  }

  #readMap(patterns: Fields, given: Given, path: string) {
    const field = Object.values(patterns)[0]!;
    const read = ([name, inner]: [string, unknown]) =>
      [name, this.#readValue(field, inner, joinPath(path, name))] as const;
    // fromEntries makes an own property of every name, `__proto__` included.
    return Object.fromEntries(Object.entries(given).map(read));
  }

  #readList(field: Field, items: Field, given: unknown, path: string) {
    if (!Array.isArray(given)) return this.#refuseKind("a list", given, path);
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = field;
    if (given.length < minItems) this.#problems.add(path, "must not be empty");
    if (given.length > maxItems) return this.#problems.add(path, `has more than ${maxItems} items`);
    const values = given.map((item, index) => this.#readValue(items, item, `${path}[${index}]`));
    const again = values.findIndex(
      (value, index) => value !== undefined && values.indexOf(value) < index,
    );
    if (field.uniqueItems && again >= 0) {
      this.#problems.add(`${path}[${again}]`, "stands in the list twice");
    }
    return values;
  }

  #readLeaf(field: Field, given: unknown, path: string): unknown {
    const says = judgeLeaf(field, given);
    if (says !== undefined) return this.#refuse(field, says, given, path);
    if (field.format === undefined) return given;
    try {
      const value = FORMATS[field.format as FormatName](given as string);
      if (field.format === "duration") judgeDuration(field, value as number);
      return value;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#refuse(field, error.message, given, path);
    }
  }

  #refuse(field: Field, says: string, given: unknown, path: string): undefined {
    this.#problems.add(path, field.unquoted ? says : `${says}, but is ${quote(given)}`);
  }

  #refuseKind(kind: string, given: unknown, path: string): undefined {
    this.#problems.add(path, `must be ${kind}, but is ${nameKind(given)}`);
  }

  #refuseUnknown(name: string, siblings: string[], path: string, note: string) {
    const sibling = findNearest(name, siblings);
    // A right name in the wrong table is as common as a slip of the pen.
    const elsewhere = listFields(this.#table).find(([known]) => known.split(".").at(-1) === name);
    const nearest = sibling === undefined ? elsewhere?.[0] : joinPath(path, sibling);
    this.#problems.addUnknown(joinPath(path, name), note, nearest);
  }
}

function isTable(given: unknown): given is Given {
  return (
    typeof given === "object" && given !== null && !Array.isArray(given) && !(given instanceof Date)
  );
}

/** What a text, a number or a boolean must be, when it is not that. */
function judgeLeaf(field: Field, given: unknown): string | undefined {
  const words = field.enum ?? (field.const === undefined ? undefined : [field.const]);
  if (words) return words.includes(given) ? undefined : `must be ${listWords(words)}`;
  if (field.type === "string") return judgeText(field, given);
  if (field.type === "boolean") {
    return typeof given === "boolean" ? undefined : "must be true or false";
  }
  const { minimum, maximum } = field;
  const isWhole = field.type === "integer";
  const isNumber = isWhole ? Number.isSafeInteger(given) : Number.isFinite(given);
  if (isNumber && (given as number) >= minimum! && (given as number) <= maximum!) return undefined;
  return `must be ${isWhole ? "an integer" : "a number"} from ${minimum} to ${maximum}`;
}

function judgeText(field: Field, given: unknown): string | undefined {
  if (typeof given !== "string") return "must be text in quotes";
  const { minLength = 0, maxLength } = field;
  if (given.length < minLength && maxLength === undefined) return "must not be empty";
  if (given.length >= minLength && given.length <= (maxLength ?? given.length)) return undefined;
  return `must be text of ${minLength} to ${maxLength} characters`;
}

function judgeDuration({ minimum = 0, maximum }: Field, duration_ms: number) {
  if (duration_ms >= minimum && duration_ms <= maximum!) return;
  throw new RangeError(`must be from ${formatDuration(minimum)} to ${formatDuration(maximum!)}`);
}

/** `"a", "b" or "c"` */
function listWords(words: readonly unknown[]): string {
  const quoted = words.map((one) => JSON.stringify(one));
  return [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter(Boolean).join(" or ");
}
