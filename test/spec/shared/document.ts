// The OpenAPI document as tests read it, and the judge of whether a value fits one of its schemas.

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  const?: unknown;
  pattern?: string;
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
export interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  /** The half whose route it is. */
  tags: string[];
  requestBody?: Content;
  responses: Record<string, Content & { description: string; headers: object }>;
}
export interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

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
  if ("const" in schema) return schema.const === value ? [] : [place];
  const types = [schema.type ?? []].flat();
  const isObject = typeof value === "object" && value !== null;
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const isInteger = types.includes("integer") && Number.isInteger(value);
  if (types.length > 0 && !types.includes(type) && !isInteger) return [place];
  if (Array.isArray(value)) {
    return value.flatMap((one, i) => judge(schema.items ?? {}, one, `${place}.${i}`));
  }
  if (!isObject) return [];
  const missing = (schema.required ?? []).filter((name) => !(name in value));
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => name in value);
  return [
    ...missing.map((name) => `${place}.${name} is missing`),
    ...fields.flatMap(([name, one]) =>
      judge(one, (value as Record<string, unknown>)[name], `${place}.${name}`),
    ),
  ];
}
