// Rewrites a JSON Schema of draft-07, which most MCP servers publish, as one of 2020-12.
import { isObject, type JsonObject } from "../../../platform/json.ts";

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
/** Depth below which nothing is rewritten; a schema of that depth is refused anyway. */
const DEPTH_MAX = 32;

/** Keywords whose value is a schema, a list of them, or an object of them by name. */
const SCHEMAS = new Set(
  "additionalProperties propertyNames contains not if then else items allOf anyOf oneOf".split(" "),
);
const NAMED = new Set(["properties", "patternProperties", "definitions", "$defs"]);

/** A schema of another draft than draft-07 stays as it is. */
export function rewriteSchema(schema: JsonObject): JsonObject {
  const { $schema, ...rest } = schema;
  if (typeof $schema !== "string" || !DRAFT_7.test($schema)) return schema;
  return rewrite(rest, 0) as JsonObject;
}

function rewrite(schema: unknown, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((one) => rewrite(one, depth + 1));
  if (!isObject(schema) || depth > DEPTH_MAX) return schema;
  // Beside `$ref` no other keyword of draft-07 counts.
  if (typeof schema.$ref === "string") return { $ref: schema.$ref };
  const written: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "items" && Array.isArray(value)) {
      written.prefixItems = rewrite(value, depth);
    } else if (keyword === "additionalItems") {
      if (Array.isArray(schema.items)) written.items = rewrite(value, depth + 1);
    } else if (keyword === "dependencies" && isObject(value)) {
      addDependencies(written, value, depth);
    } else if (SCHEMAS.has(keyword)) written[keyword] = rewrite(value, depth + 1);
    else if (NAMED.has(keyword) && isObject(value)) {
      written[keyword] = mapValues(value, (one) => rewrite(one, depth + 1));
    } else written[keyword] = value;
  }
  return written;
}

function addDependencies(written: JsonObject, dependencies: JsonObject, depth: number): void {
  const entries = Object.entries(dependencies);
  const required = entries.filter(([, value]) => Array.isArray(value));
  const schemas = entries.filter(([, value]) => !Array.isArray(value));
  if (required.length > 0) written.dependentRequired = Object.fromEntries(required);
  if (schemas.length === 0) return;
  written.dependentSchemas = mapValues(Object.fromEntries(schemas), (one) =>
    rewrite(one, depth + 1),
  );
}

function mapValues(value: JsonObject, map: (one: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, map(one)]));
}
