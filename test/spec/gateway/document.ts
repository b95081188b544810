// The OpenAPI document for tests, and a check of values against its schemas.
import type { TestApp } from "../../support/app.ts";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  /** Named variants with a discriminator field. */
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  const?: unknown;
  enum?: unknown[];
  additionalProperties?: Schema | boolean;
  examples?: unknown[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}
interface Content {
  content: Record<string, { schema: Schema }>;
}
export interface Parameter {
  /** Reference to a shared parameter; excludes the other fields. */
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
}
export interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  /** The group that it belongs to. */
  tags: string[];
  /** Empty: it needs no key; left out: it does. */
  security?: object[];
  parameters: Parameter[];
  requestBody?: Content;
  responses: Record<string, Content & { description: string; headers: object }>;
}
export interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, object>;
    parameters: Record<string, Parameter>;
  };
}

/** The document as served; `isWhole` copies shared error responses into each operation. */
export async function readDocument(app: TestApp, isWhole = true): Promise<Document> {
  const document = (await (await app.get("/openapi.json", { key: null })).json()) as Document;
  const operations = Object.values(document.paths).flatMap((one) => Object.values(one));
  for (const { responses } of isWhole ? operations : []) {
    for (const [status, response] of Object.entries(responses)) {
      const { $ref } = response as { $ref?: string };
      if ($ref) responses[status] = followRef(document, $ref) as Operation["responses"][string];
    }
  }
  return document;
}

/** Whether a path belongs to the gateway. */
export const isGateway = (path: string) =>
  /^\/v1\/(chat|responses|messages|models|embeddings|search|usage)\b/.test(path);

/** The target of a `$ref`; undefined if missing. */
export const followRef = (document: Document, ref: string): unknown =>
  ref
    .replace("#/", "")
    .split("/")
    .reduce<unknown>((place, step) => (place as Record<string, unknown>)?.[step], document);

/**
 * Where a value violates a schema; empty if valid. Supports only the keywords of our own schemas.
 */
export function findBreach(
  document: Document,
  schema: Schema,
  value: unknown,
  place = "",
): string[] {
  const find = (one: Schema, inner: unknown, at: string) => findBreach(document, one, inner, at);
  if (schema.$ref) return find(followRef(document, schema.$ref) as Schema, value, place);
  if (schema.anyOf) {
    const all = schema.anyOf.map((one) => find(one, value, place));
    return all.some((one) => one.length === 0) ? [] : all[0]!;
  }
  if (schema.oneOf) {
    const { propertyName, mapping } = schema.discriminator!;
    const word = (value as Record<string, string> | null)?.[propertyName];
    const found = word === undefined ? undefined : mapping[word];
    return found ? find({ $ref: found }, value, place) : [`${place}.${propertyName}`];
  }
  if (schema.enum) return schema.enum.includes(value) ? [] : [place];
  if ("const" in schema) return schema.const === value ? [] : [place];
  const types = [schema.type ?? []].flat();
  const isObject = typeof value === "object" && value !== null;
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const isInteger = types.includes("integer") && Number.isInteger(value);
  if (types.length > 0 && !types.includes(type) && !isInteger) return [place];
  if (!isWithin(schema, value)) return [place];
  if (Array.isArray(value)) {
    return value.flatMap((one, i) => find(schema.items ?? {}, one, `${place}.${i}`));
  }
  if (!isObject) return [];
  const missing = (schema.required ?? []).filter((name) => !(name in value));
  const { properties = {}, additionalProperties: others = {} } = schema;
  return [
    ...missing.map((name) => `${place}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const one = Object.hasOwn(properties, name) ? properties[name]! : others;
      const at = `${place}.${name}`;
      return typeof one === "object" ? find(one, inner, at) : one ? [] : [`${at} is unknown`];
    }),
  ];
}

const FORMATS: Record<string, RegExp> = {
  // agents.resources.p3
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
};

/** Checks one value beyond its type. */
function isWithin(schema: Schema, value: unknown): boolean {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (typeof value === "number") return value >= minimum && value <= maximum;
  if (Array.isArray(value)) {
    return value.length >= (schema.minItems ?? 0) && value.length <= (schema.maxItems ?? Infinity);
  }
  if (typeof value !== "string") return true;
  const { minLength = 0, maxLength = Infinity, format = "", pattern } = schema;
  // A text has at most as many characters as code units, and at least half as many.
  if (value.length < 2 * minLength || value.length > maxLength) {
    const length = [...value].length;
    if (length < minLength || length > maxLength) return false;
  }
  if (FORMATS[format]?.test(value) === false) return false;
  return pattern === undefined || readPattern(pattern).test(value);
}

const patterns = new Map<string, RegExp>();
function readPattern(text: string): RegExp {
  const pattern = patterns.get(text) ?? new RegExp(text, "u");
  patterns.set(text, pattern);
  return pattern;
}
