// JSON Schema as the stub model reads it: what a schema means here, in bounded work.

export type StubSchema = Record<string, unknown>;

/** As many names of a schema are looked at, and as many of its variants. */
export const NAMES_MAX = 500;
const STEPS_MAX = 8;

/** What a filler goes by; a schema may have any number of other words. */
const KEYWORDS = [
  ...["type", "const", "enum", "default", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["items", "prefixItems", "minItems", "maxItems", "additionalProperties", "anyOf", "oneOf"],
];

/** The schema behind references, with all that `allOf` adds to it; {} for what is none. */
export function resolve(given: unknown, root: StubSchema): StubSchema {
  let schema = given;
  for (let step = 0; step < STEPS_MAX && isSchema(schema); step++) {
    if (typeof schema.$ref === "string") schema = follow(schema.$ref, root);
    else if (Array.isArray(schema.allOf)) schema = joinAll(schema, schema.allOf, root);
    else return schema;
  }
  return {};
}

function joinAll({ allOf: _, ...own }: StubSchema, parts: unknown[], root: StubSchema): StubSchema {
  const joined = parts.slice(0, STEPS_MAX).reduce<StubSchema>((sum, part) => {
    const reference = isSchema(part) && typeof part.$ref === "string" ? part.$ref : null;
    const found = reference === null ? part : follow(reference, root);
    return isSchema(found) ? join(sum, found) : sum;
  }, own);
  // What one of them joins in turn is left out: no schema may lead back to itself for ever.
  return joined;
}

/** Both at once; where both say something of the same, the second counts. */
export function join(one: StubSchema, other: StubSchema): StubSchema {
  const joined: StubSchema = {};
  for (const word of KEYWORDS) {
    const from = [other, one].find((schema) => Object.hasOwn(schema, word));
    if (from) joined[word] = from[word];
  }
  const required = [...new Set([...listRequired(one), ...listRequired(other)])];
  if (required.length > 0) joined.required = required;
  if (!one.properties && !other.properties) return joined;
  const properties = required.map((name) => {
    return [name, pick(other.properties, name) ?? pick(one.properties, name)] as const;
  });
  joined.properties = Object.fromEntries(properties);
  return joined;
}

export function listRequired({ required }: StubSchema): string[] {
  if (!Array.isArray(required)) return [];
  return required.slice(0, NAMES_MAX).filter((name) => typeof name === "string");
}

/** "#/$defs/Place": only what stands in the same document. */
function follow(reference: string, root: StubSchema): unknown {
  const [start, ...names] = reference.split("/", 2 * STEPS_MAX);
  if (start !== "#") return undefined;
  return names.reduce<unknown>((schema, name) => pick(schema, name), root);
}

/** The types that a schema names or, by the words it uses, means. */
export function typesOf(schema: StubSchema): unknown[] {
  const { type, properties, required, items, prefixItems } = schema;
  if (Array.isArray(type)) return type.slice(0, STEPS_MAX);
  if (type !== undefined) return [type];
  if (properties || required) return ["object"];
  if (items || prefixItems) return ["array"];
  return ["minimum" in schema || "maximum" in schema ? "number" : "string"];
}

export function pick(from: unknown, name: string): unknown {
  return isSchema(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}

export function isSchema(value: unknown): value is StubSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
