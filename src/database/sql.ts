// SQL as tagged templates: a value becomes a parameter, a nested template becomes text.
import type { Static, TObject } from "@sinclair/typebox";
import { columnsOf, writeRow } from "../platform/schema.ts";

export type SqlValue = string | number | boolean | null;

/** Text of a statement; only this file makes it, so no outside text can become one. */
class Template {
  constructor(
    readonly strings: readonly string[],
    readonly values: readonly (SqlValue | Sql)[],
  ) {}
}
export type Sql = Template;

/** Binds values and inserts nested templates: ``sql`SELECT 1 WHERE ${value}` ``. */
export function sql(strings: TemplateStringsArray, ...values: (SqlValue | Sql)[]): Sql {
  return new Template(strings, values);
}

export const none: Sql = sql``;

/** Writes `(a, b) VALUES (?, ?)` of a whole row. */
export function into<S extends TObject>(schema: S, row: Static<S>): Sql {
  let strings = insertions.get(schema);
  if (!strings) {
    const columns = columnsOf(schema).map((column) => column.name);
    strings = [`(${columns.join(", ")}) VALUES (`, ...columns.slice(1).map(() => ", "), ")"];
    insertions.set(schema, strings);
  }
  return new Template(strings, writeRow(schema, row));
}

/** Inserts many rows in one statement; its text is kept for each number of rows. */
export function createInsertion(schema: TObject, before: string, behind: string) {
  const columns = columnsOf(schema).map((column) => column.name);
  const start = `${before} (${columns.join(", ")}) VALUES (`;
  const commas = columns.slice(1).map(() => ", ");
  const texts = new Map<number, string[]>();
  return (rows: readonly (readonly SqlValue[])[]): Sql => {
    let strings = texts.get(rows.length);
    if (!strings) {
      const others = rows.slice(1).flatMap(() => ["), (", ...commas]);
      strings = [start, ...commas, ...others, `) ${behind}`];
      texts.set(rows.length, strings);
    }
    return new Template(strings, rows.flat());
  };
}

/**
 * Inserts one row for the row that `from` finds, and copies its columns `also`. The number `seq`
 * is that row's column of the given name, minus the value.
 */
export function createInsertionFrom(
  schema: TObject,
  into: string,
  { seq, also, from }: { seq: string; also: readonly string[]; from: readonly string[] },
) {
  const columns = columnsOf(schema).map((column) => column.name);
  const start = `${into} (${[...also, ...columns].join(", ")}) SELECT `;
  const [first, ...others] = columns.map((name) => (name === "seq" ? `${seq} - ` : ""));
  const strings = [
    start + [...also, first].join(", "),
    ...others.map((before) => `, ${before}`),
    ...from,
  ];
  return (values: readonly SqlValue[]): Sql => new Template(strings, values);
}

/** Numbers of rows in one statement; few sizes make few statements. */
const GROUP_SIZES = [64, 16, 4, 1] as const;

export function* splitRows<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; ) {
    const size = GROUP_SIZES.find((one) => one <= rows.length - at)!;
    yield rows.slice(at, at + size);
    at += size;
  }
}

const insertions = new WeakMap<TObject, string[]>();

export type Bindable = string | number | null;

export interface Statement {
  text: string;
  values: Bindable[];
}

export function render(query: Sql, placeholder: (position: number) => string): Statement {
  const values: Bindable[] = [];
  return { text: renderPart(query, placeholder, values), values };
}

function renderPart(
  part: Sql,
  placeholder: (position: number) => string,
  values: Bindable[],
): string {
  let text = part.strings[0]!;
  for (let i = 0; i < part.values.length; i++) {
    const value = part.values[i]!;
    if (isSql(value)) text += renderPart(value, placeholder, values);
    else text += placeholder(values.push(bindable(value)));
    text += part.strings[i + 1]!;
  }
  return text;
}

/** A flat template has no nested ones: its strings identify its text. */
export function isFlat(query: Sql): boolean {
  return !query.values.some(isSql);
}

/** Replaces what an engine refuses in a text from outside by U+FFFD. */
export function cleanText(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
  return whole.isWellFormed() ? whole : whole.toWellFormed();
}

/** Converts a value; throws for one that an engine would refuse, cut or change. */
export function bindable(value: SqlValue | Sql): Bindable {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0;
    case "number":
      // SQLite stores NaN as NULL; integers beyond 2^53 - 1 are inexact.
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
        throw new Error(`a value of a statement is ${value}`);
      }
      return value;
    case "string":
      // PostgreSQL refuses NUL, SQLite's functions stop at it; half a pair would be replaced.
      if (value.includes("\0") || !value.isWellFormed()) {
        throw new Error("a text of a statement holds a NUL or half a surrogate pair");
      }
      return value;
    default:
      if (value !== null) throw new Error(`a value of a statement is ${typeof value}`);
      return null;
  }
}

export function isSql(value: SqlValue | Sql): value is Sql {
  return value instanceof Template;
}

/** Size of a page of rows; a row that crosses it is still included. */
const PAGE_BYTES = 256 * 1024;

/**
 * Selects the `seq` of a page's last row, for lists of long texts. `rows` is `FROM … WHERE …`;
 * `bytes` measures one row with OCTET_LENGTH, which reads no text.
 */
export function findPageEnd(rows: Sql, bytes: Sql, limit: number): Sql {
  return sql`SELECT MAX(seq) FROM (
      SELECT seq, SUM(bytes) OVER (ORDER BY seq) - bytes AS bytes_before FROM (
        SELECT seq, ${bytes} AS bytes ${rows} ORDER BY seq LIMIT ${limit}
      ) AS rows_ahead
    ) AS sums WHERE bytes_before < ${PAGE_BYTES}`;
}

/** Sorts changes by their keys: transactions that lock rows in one order cannot deadlock. */
export const inLockOrder = <T>(groups: ReadonlyMap<string, T>): [key: string, group: T][] =>
  [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
