// Schemas that are type, validator, OpenAPI schema and the plan of rows and replies at once.
import {
  type Static,
  type StringOptions,
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from "@sinclair/typebox";
import { formatMoney } from "./money.ts";

/** Form of a field in its column, where its JSON type is not enough. */
const FORM = Symbol("form");
type SchemaForm = "text" | "number" | "boolean" | "json" | "money" | "time" | "spread";

export function maybe<S extends TSchema>(schema: S): TUnion<[S, TNull]> {
  // The columns could not tell "null" from "every field is null".
  if (formOf(schema) === "spread") throw new Error("a spread field cannot be null");
  const { description, ...rest } = schema;
  const union = Type.Union([rest as S, Type.Null()], description ? { description } : {});
  return Object.assign(union, { [FORM]: formOf(schema) });
}

/** Marks a value that no error message quotes. */
const UNQUOTED = Symbol("unquoted");

export function unquoted<S extends TSchema>(schema: S): S {
  return Object.assign(schema, { [UNQUOTED]: true });
}

export function isUnquoted(schema: TSchema): boolean {
  return UNQUOTED in schema;
}

/** A text without NUL, which no database keeps. */
export function StoredText(description: string, maxLength: number, options?: StringOptions) {
  return Type.String({ description, maxLength, ...options, pattern: "^[^\\u0000]*$" });
}

export function FilledText(description: string, maxLength: number) {
  return StoredText(description, maxLength, { minLength: 1 });
}

export function oneOf<T extends string>(values: readonly T[], description: string) {
  const words = values.map((value) => Type.Literal(value));
  return Type.Unsafe<T>(Type.Union(words, { description }));
}

export function always<const T extends string>(value: T) {
  return Type.Literal(value, { description: `Always \`${value}\`.` });
}

/** Whole micro-SAR in memory and column; a decimal string with six places on the wire. */
export function Money(description: string) {
  const schema = { type: "string", pattern: "^[0-9]+\\.[0-9]{6}$", description, [FORM]: "money" };
  return Type.Unsafe<number>(schema);
}

/** agents.resources.p3: milliseconds since 1970 in memory and column; ISO 8601 in UTC outside. */
export function Timestamp(description: string) {
  return Type.Unsafe<number>({
    type: "string",
    format: "date-time",
    description: `${description} ISO 8601 in UTC, with milliseconds.`,
    [FORM]: "time",
  });
}

/** Nested on the wire, a column for each field (`usage.rounds` is `usage_rounds`): SQL can add. */
export function spread<P extends TProperties>(fields: P, description: string): TObject<P> {
  return Object.assign(Type.Object(fields, { description }), { [FORM]: "spread" });
}

const RULES = Symbol("rules");
/** Returns what is wrong with a field that is valid alone, such as "needs `stream`", or null. */
type SchemaRule<Fields> = (fields: Fields) => string | null;

/**
 * A body with rules for fields whose validity depends on earlier fields. A rule runs after the
 * checks of its field, so all fields up to it are valid.
 */
export function withRules<S extends TObject>(
  schema: S,
  rules: { [name in keyof Static<S>]?: SchemaRule<Static<S>> },
): S {
  return Object.assign(schema, { [RULES]: new Map(Object.entries(rules)) });
}

export function rulesOf(schema: TSchema): ReadonlyMap<string, SchemaRule<unknown>> {
  return (schema as { [RULES]?: Map<string, SchemaRule<unknown>> })[RULES] ?? NO_RULES;
}
const NO_RULES: ReadonlyMap<string, SchemaRule<unknown>> = new Map();

/**
 * agents.resources.p1: every field of a resource is always sent, and `required` names those that
 * are never null. agents.resources.p2: objects inside it declare what may be absent.
 */
export function Resource<P extends TProperties>(
  name: string,
  fields: P,
  description?: string,
): TObject<P> {
  const schema = Type.Object(fields, { $id: name, ...(description && { description }) });
  const required = (schema.required ?? []) as readonly string[];
  return Object.assign(schema, {
    required: required.filter((field) => !isNullable(fields[field]!)),
  });
}

export function Row<A extends TProperties, B extends TProperties>(resource: TObject<A>, own: B) {
  return Type.Object({ ...resource.properties, ...own }) as unknown as TObject<A & B>;
}

type Column = { name: string; path: readonly string[]; form: SchemaForm; nullable: boolean };
type Raw = Record<string, unknown>;

export function columnsOf(schema: TObject): readonly Column[] {
  const known = plans.get(schema);
  if (known) return known;
  const plan = listColumns(schema, "", []);
  plans.set(schema, plan);
  return plan;
}

export function readRow<S extends TObject>(schema: S, raw: Raw): Static<S> {
  const value: Raw = {};
  for (const column of columnsOf(schema)) {
    let place = value;
    for (let depth = 0; depth < column.path.length - 1; depth++) {
      const step = column.path[depth]!;
      place[step] ??= {};
      place = place[step] as Raw;
    }
    place[column.path.at(-1)!] = readColumn(column, raw[column.name]);
  }
  return value as Static<S>;
}

export function writeRow<S extends TObject>(
  schema: S,
  value: Static<S>,
): (string | number | null)[] {
  return columnsOf(schema).map((column) => {
    let found: unknown = value;
    for (const step of column.path) found = (found as Raw)[step];
    return writeColumn(column, found);
  });
}

/** Returns a row as callers see it: the resource's fields, in their form on the wire. */
export function show<S extends TObject>(resource: S, row: Static<S>): Raw {
  let fields = views.get(resource);
  if (!fields) {
    fields = Object.entries(resource.properties).map(([name, schema]) => {
      return { name, schema: schema as TSchema, form: formOf(schema as TSchema) };
    });
    views.set(resource, fields);
  }
  const shown: Raw = {};
  for (const field of fields) shown[field.name] = showValue(field, (row as Raw)[field.name]);
  return shown;
}

type SchemaField = { name: string; schema: TSchema; form: SchemaForm };

const plans = new WeakMap<TObject, readonly Column[]>();
const views = new WeakMap<TObject, readonly SchemaField[]>();

function isNullable(schema: TSchema): boolean {
  return Array.isArray(schema.anyOf) && schema.anyOf.some((one: TSchema) => one.type === "null");
}

function formOf(schema: TSchema): SchemaForm {
  const marked = (schema as { [FORM]?: SchemaForm })[FORM];
  if (marked) return marked;
  if (Array.isArray(schema.anyOf)) {
    const variants = schema.anyOf.filter((one: TSchema) => one.type !== "null");
    const forms = new Set<SchemaForm>(variants.map(formOf));
    // Values of several forms can only be told apart as JSON.
    return forms.size === 1 ? [...forms][0]! : "json";
  }
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

function listColumns(schema: TObject, prefix: string, path: readonly string[]): Column[] {
  return Object.entries(schema.properties).flatMap(([field, inner]) => {
    const here = [...path, field];
    const form = formOf(inner);
    if (form === "spread") return listColumns(inner as TObject, `${prefix}${field}_`, here);
    return [{ name: prefix + field, path: here, form, nullable: isNullable(inner) }];
  });
}

function readColumn(column: Column, raw: unknown): unknown {
  if (raw === undefined) throw new Error(`column ${column.name} was not selected`);
  if (raw === null) {
    if (!column.nullable) throw new Error(`column ${column.name} is null`);
    return null;
  }
  switch (column.form) {
    case "boolean":
      return Number(raw) === 1;
    case "json":
      return JSON.parse(raw as string);
    case "text":
      return raw;
    default:
      // PostgreSQL sends BIGINT as text; our values stay in the range of a double.
      return Number(raw);
  }
}

function writeColumn(column: Column, value: unknown): string | number | null {
  if (value === null && column.nullable) return null;
  if (value === undefined) throw new Error(`column ${column.name} has no value`);
  // A JSON null in a column that is not null is the text "null".
  if (column.form === "json") return JSON.stringify(value);
  if (value === null) throw new Error(`column ${column.name} is never null`);
  return column.form === "boolean" ? Number(value) : (value as string | number);
}

function showValue({ schema, form }: SchemaField, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (form) {
    case "money":
      return formatMoney(value as number);
    case "time":
      return new Date(value as number).toISOString();
    case "spread":
      return show(schema as TObject, value as Static<TObject>);
    default:
      return value;
  }
}
