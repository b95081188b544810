// The OpenAPI document as tests read it, and the judge of whether a value fits one of its schemas.
import type { TestApp } from "../../support/app.ts";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  /** Named variants, of which one field tells which it is. */
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
  /** Of one that others share; then it has nothing else. */
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

/** The document as it is served; `isWhole`: refusals that operations share stand in each of them. */
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

/** Whether a path is one of the gateway's. */
export const isGateway = (path: string) => /^\/v1\/(chat|models|embeddings|search)\b/.test(path);

/** What a `$ref` leads to; undefined: nothing. */
export const followRef = (document: Document, ref: string): unknown =>
  ref
    .replace("#/", "")
    .split("/")
    .reduce<unknown>((place, step) => (place as Record<string, unknown>)?.[step], document);

/** Where a value breaks a schema; empty: nowhere. Only what our own schemas say is understood. */
export function findBreach(
  document: Document,
  schema: Schema,
  value: unknown,
  place = "",
): string[] {
  const judge = (one: Schema, inner: unknown, at: string) => findBreach(document, one, inner, at);
  if (schema.$ref) return judge(followRef(document, schema.$ref) as Schema, value, place);
  if (schema.anyOf) {
    const all = schema.anyOf.map((one) => judge(one, value, place));
    return all.some((one) => one.length === 0) ? [] : all[0]!;
  }
  if (schema.oneOf) {
    const { propertyName, mapping } = schema.discriminator!;
    const word = (value as Record<string, string> | null)?.[propertyName];
    const found = word === undefined ? undefined : mapping[word];
    return found ? judge({ $ref: found }, value, place) : [`${place}.${propertyName}`];
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
    return value.flatMap((one, i) => judge(schema.items ?? {}, one, `${place}.${i}`));
  }
  if (!isObject) return [];
  const missing = (schema.required ?? []).filter((name) => !(name in value));
  const { properties = {}, additionalProperties: others = {} } = schema;
  return [
    ...missing.map((name) => `${place}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const one = Object.hasOwn(properties, name) ? properties[name]! : others;
      const at = `${place}.${name}`;
      return typeof one === "object" ? judge(one, inner, at) : one ? [] : [`${at} is unknown`];
    }),
  ];
}

const FORMATS: Record<string, RegExp> = {
  // agents.resources.p3
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
};

/** What a schema says of one value beside its type. */
function isWithin(schema: Schema, value: unknown): boolean {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (typeof value === "number") return value >= minimum && value <= maximum;
  if (Array.isArray(value)) {
    return value.length >= (schema.minItems ?? 0) && value.length <= (schema.maxItems ?? Infinity);
  }
  if (typeof value !== "string") return true;
  const { minLength = 0, maxLength = Infinity, format = "", pattern } = schema;
  // No text has more characters than units, and none has fewer than half as many.
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
