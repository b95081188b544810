// Compiles TypeBox schemas to checks that find the first invalid field.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { apiError } from "../platform/errors.ts";
import { isUnquoted, rulesOf } from "../platform/schema.ts";
import { shorten } from "../platform/text.ts";

export interface FieldError {
  /** Path of the field, such as `messages.0.role`; empty for the body itself. */
  param: string;
  message: string;
  /** The same without the invalid value. */
  recorded?: string;
}

/** Name of a pattern, for messages such as "must be a UUID". */
const NOUN = Symbol("noun");
export function named<S extends TSchema>(schema: S, noun: string): S {
  return Object.assign(schema, { [NOUN]: noun });
}

/** gateway.errors.invalid_request, gateway.errors.p4: a check returns the value or throws. */
export function compileCheck<S extends TSchema>(schema: S): (value: unknown) => Static<S> {
  const prepare = () => {
    requireKnownKeywords(schema);
    return { compiled: TypeCompiler.Compile(schema), rules: [...rulesOf(schema).values()] };
  };
  // Prepared at first need, so that a start is quick.
  let prepared: ReturnType<typeof prepare> | undefined;
  return (value) => {
    prepared ??= prepare();
    const { compiled, rules } = prepared;
    if (compiled.Check(value) && rules.every((judge) => judge(value) === null)) return value;
    const fault = findFieldError(schema, value, "");
    // Only the walk counts code points; the compiled check counts UTF-16 units.
    if (!fault) return value as Static<S>;
    const { param, ...sentences } = fault;
    throw apiError("validation", param ? fault : sentences);
  };
}

const KEYWORDS = new Set([
  ...["type", "const", "anyOf", "properties", "required", "additionalProperties"],
  ...["items", "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum"],
  ...["$id", "description", "default", "examples"],
]);

const known = new WeakSet<TSchema>();

/** Throws for a keyword that the walk does not know, and would therefore accept. */
function requireKnownKeywords(schema: TSchema): void {
  if (known.has(schema)) return;
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined) throw new Error(`the walk of a body does not know "${unknown}"`);
  const inner = [...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})];
  if (schema.items) inner.push(schema.items);
  for (const one of inner) {
    // A valid body is not walked, so rules of inner schemas would never run.
    if (rulesOf(one).size > 0) throw new Error("only a whole body can have rules");
    requireKnownKeywords(one);
  }
  known.add(schema);
}

export function findFieldError(schema: TSchema, value: unknown, path: string): FieldError | null {
  if (schema.anyOf) return findUnionFault(listVariants(schema), value, path);
  if ("const" in schema) {
    return value === schema.const ? null : explain(path, `must be ${nameWanted([schema])}`, value);
  }
  switch (schema.type) {
    case "object":
      return findObjectFault(schema as TObject, value, path);
    case "array":
      return findArrayFault(schema, value, path);
    case "string":
      return findStringFault(schema, value, path);
    case "integer":
    case "number":
      return findNumberFault(schema, value, path);
    case "boolean":
    case "null":
      return isOfType(schema, value)
        ? null
        : explain(path, `must be ${nameWanted([schema])}`, value);
    default:
      return null;
  }
}

function findObjectFault(schema: TObject, value: unknown, path: string): FieldError | null {
  if (!isOfType(schema, value)) return explain(path, "must be an object", value);
  const fields = value as Record<string, unknown>;
  const rules = rulesOf(schema);
  for (const [name, inner] of Object.entries(schema.properties)) {
    const place = join(path, name);
    if (Object.hasOwn(fields, name)) {
      const fault = findFieldError(inner, fields[name], place);
      const isOptional = !schema.required?.includes(name);
      if (fault && isOptional && fields[name] === null) return explainNull(fault);
      if (fault) return fault;
    } else if (schema.required?.includes(name)) {
      return explain(place, "is required");
    }
    const rule = rules.get(name)?.(fields);
    if (rule) return explain(place, rule);
  }
  if (schema.additionalProperties !== false) return null;
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(schema.properties, name));
  if (unknown === undefined) return null;
  return explain(join(path, shorten(unknown)), "is not a field of this request");
}

function findArrayFault(schema: TSchema, value: unknown, path: string): FieldError | null {
  if (!Array.isArray(value)) return explain(path, "must be a list", value);
  const { minItems, maxItems } = schema;
  if (value.length < (minItems ?? 0) || value.length > (maxItems ?? value.length)) {
    return explain(path, `must have ${nameCount(minItems, maxItems, "item")}`);
  }
  for (let i = 0; i < value.length; i++) {
    // Items before the invalid one are not walked.
    if (isAccepted(schema.items, value[i])) continue;
    const fault = findFieldError(schema.items, value[i], join(path, String(i)));
    if (fault) return fault;
  }
  return null;
}

const compiledItems = new WeakMap<TSchema, ReturnType<typeof TypeCompiler.Compile>>();

function isAccepted(items: TSchema, value: unknown): boolean {
  let compiled = compiledItems.get(items);
  if (!compiled) {
    compiled = TypeCompiler.Compile(items);
    compiledItems.set(items, compiled);
  }
  return compiled.Check(value);
}

function findStringFault(schema: TSchema, value: unknown, path: string): FieldError | null {
  const quoted = isUnquoted(schema) ? undefined : value;
  if (typeof value !== "string") return explain(path, "must be a string", quoted);
  const { minLength, maxLength, pattern } = schema;
  if (isLengthOutside(value, minLength ?? 0, maxLength ?? value.length)) {
    return explain(path, `must have ${nameCount(minLength, maxLength, "character")}`);
  }
  if (pattern !== undefined && !new RegExp(pattern).test(value)) {
    const noun = (schema as { [NOUN]?: string })[NOUN];
    const rule = noun ? `must be ${noun}` : "must keep to the allowed characters and form";
    return explain(path, rule, quoted);
  }
  return null;
}

/** Counts code points, of which a text has at most as many as UTF-16 units. */
function isLengthOutside(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > max * 2) return true;
  if (value.length <= max && min <= 1) return false;
  let length = 0;
  for (const _ of value) length++;
  return length < min || length > max;
}

function findNumberFault(schema: TSchema, value: unknown, path: string): FieldError | null {
  const { minimum, maximum } = schema;
  // The type first, since comparing an object would call its `toString`.
  if (isOfType(schema, value)) {
    const number = value as number;
    if ((minimum ?? number) <= number && number <= (maximum ?? number)) return null;
  }
  const bounds = nameBounds(minimum, maximum);
  const link = bounds.startsWith("at") ? " of " : " from ";
  return explain(path, `must be ${nameWanted([schema])}${bounds && link + bounds}`, value);
}

function findUnionFault(variants: TSchema[], value: unknown, path: string): FieldError | null {
  const faults = variants.map((variant) => findFieldError(variant, value, path));
  if (faults.includes(null)) return null;
  // The meant variant is the first whose tags the value carries, else the one of its type.
  const tagged = variants.findIndex((variant) => carriesTag(variant, value));
  if (tagged !== -1) return faults[tagged]!;
  const alike = variants.filter((variant) => !("const" in variant) && isOfType(variant, value));
  if (alike.length > 1) return findTagFault(alike, value, path);
  if (alike.length === 1) return faults[variants.indexOf(alike[0]!)]!;
  const isQuoted = !variants.some(isUnquoted);
  return explain(path, `must be ${nameWanted(variants)}`, isQuoted ? value : undefined);
}

/**
 * Without any variant's tags a tag itself is at fault, such as a message's role. Of several tags
 * this is the one that is sent, among the variants whose other tag the value has.
 */
function findTagFault(variants: TSchema[], value: unknown, path: string): FieldError {
  const fields = value as Record<string, unknown>;
  const alike = variants.filter((one) => listTags(one).some(([name, tag]) => fields[name] === tag));
  const meant = alike.length > 0 ? alike : variants;
  const wrong = meant.flatMap(listTags).filter(([name, tag]) => fields[name] !== tag);
  const tag = (wrong.find(([name]) => Object.hasOwn(fields, name)) ?? wrong[0])?.[0];
  if (tag === undefined) return findUntaggedFault(variants, fields, path);
  const place = join(path, tag);
  if (!Object.hasOwn(fields, tag)) return explain(place, "is required");
  const choices = meant.flatMap((variant) => (variant as TObject).properties[tag] ?? []);
  return explain(place, `must be ${nameWanted(choices)}`, fields[tag]);
}

/** The meant one of variants without tags is the first whose fields are all sent. */
function findUntaggedFault(
  variants: TSchema[],
  fields: Record<string, unknown>,
  path: string,
): FieldError {
  const needs = ({ required = [] }: TSchema) => required as readonly string[];
  const isWhole = (one: TSchema) => needs(one).every((name) => Object.hasOwn(fields, name));
  const [meant = variants[0]!, ...others] = variants.filter(isWhole);
  const fault = findFieldError(meant, fields, path)!;
  const excess = others.flatMap(needs).find((name) => !Object.hasOwn(meant.properties, name));
  const [own] = needs(meant);
  if (own === undefined || excess === undefined || fault.param !== join(path, excess)) return fault;
  return explain(
    fault.param,
    `cannot be sent beside \`${join(path, own)}\`: send only one of them`,
  );
}

/** The fields that tell a variant from others, with their constants. */
function listTags({ properties = {} }: TSchema): [name: string, constant: unknown][] {
  return Object.entries(properties as Record<string, TSchema>).flatMap(
    ([name, inner]): [string, unknown][] => ("const" in inner ? [[name, inner.const]] : []),
  );
}

/** Tests if a value has a variant's literal tags and fills its lists that may not be empty. */
function carriesTag(variant: TSchema, value: unknown): boolean {
  if (variant.type !== "object" || !isOfType(variant, value)) return false;
  const { properties, required = [] } = variant as TObject;
  const fields = value as Record<string, unknown>;
  const tags = listTags(variant).filter(([name]) => Object.hasOwn(fields, name));
  const isTagged = tags.length > 0 && tags.every(([name, tag]) => fields[name] === tag);
  const lists = required.filter((name) => properties[name]!.minItems > 0);
  return isTagged && lists.every((name) => !isNothing(fields[name]));
}

function isNothing(value: unknown): boolean {
  return (value ?? null) === null || (Array.isArray(value) && value.length === 0);
}

function listVariants(schema: TSchema): TSchema[] {
  return schema.anyOf ? schema.anyOf.flatMap(listVariants) : [schema];
}

function isOfType({ type }: TSchema, value: unknown): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

const NOUNS: Record<string, string> = {
  array: "a list",
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  object: "an object",
  string: "a string",
};

function nameWanted(variants: TSchema[]): string {
  const literals = variants.filter((variant) => "const" in variant);
  const choices = [...new Set(literals.map((variant) => JSON.stringify(variant.const)))];
  const others = variants.filter((variant) => !("const" in variant) && variant.type !== "null");
  const nouns = new Set(others.map((variant) => NOUNS[variant.type] ?? "another value"));
  if (choices.length > 1) choices[0] = `one of ${choices[0]}`;
  return [choices.join(", "), ...nouns].filter((part) => part !== "").join(" or ") || "null";
}

function nameBounds(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return min === undefined ? "" : `at least ${min}`;
  return min === undefined ? `at most ${max}` : `${min} to ${max}`;
}

function nameCount(min: number | undefined, max: number | undefined, noun: string): string {
  const bounds = nameBounds(min, max);
  return `${bounds} ${noun}${bounds.endsWith(" 1") ? "" : "s"}`;
}

function join(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}

function explain(path: string, rule: string, value?: unknown): FieldError {
  const place = path ? `\`${path}\`` : "The body";
  const recorded = `${place} ${rule}.`;
  if (value === undefined) return { param: path, message: recorded };
  return { param: path, message: `${place} ${rule}, but is ${quote(value)}.`, recorded };
}

/** Many clients send null for fields that they do not set. */
function explainNull({ param, message, recorded = message }: FieldError): FieldError {
  const advise = (sentence: string) => `${sentence.slice(0, -1)}: leave it out instead.`;
  return { param, message: advise(message), recorded: advise(recorded) };
}

/** Quotes an invalid value: enough to find it, too little to leak other data. */
function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return shorten(typeof value === "string" ? JSON.stringify(value) : String(value));
}
