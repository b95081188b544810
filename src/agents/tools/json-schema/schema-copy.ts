// Copies what decides about a value out of a caller's JSON Schema, and refuses what cannot be used.
import { writeCanonical } from "../../../platform/json.ts";
import { estimateSize } from "./pattern.ts";
import { SchemaError, stepInto } from "./schema-error.ts";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
/** Address of a schema without `$id`; nothing can be fetched from it. */
export const HOME = "https://parameters.invalid/";
/** Maximum parts of all patterns together; each takes a few microseconds to compile. */
const PATTERN_SIZE_MAX = 4_000;
/** Maximum patterns, below the number of cached automata: a check compiles none twice. */
const PATTERNS_MAX = 100;
/** Characters that the validator reads in a fragment only when encoded. */
const ENCODED_IN_FRAGMENTS = /[^!$&-;=?-Z_a-z~\u0080-\u{10ffff}]/gu;

/** Keywords by the form of their value; `plain` values are copied as they are. */
const FORMS = {
  schema:
    "additionalProperties propertyNames unevaluatedProperties items contains unevaluatedItems " +
    "not if then else",
  schemas: "prefixItems allOf anyOf oneOf",
  named: "properties patternProperties dependentSchemas $defs definitions",
  value: "const",
  values: "enum",
  reference: "$ref $dynamicRef",
  anchor: "$anchor $dynamicAnchor",
  id: "$id",
  plain:
    "type required dependentRequired pattern minProperties maxProperties minItems maxItems " +
    "uniqueItems minContains maxContains minimum maximum exclusiveMinimum exclusiveMaximum " +
    "multipleOf minLength maxLength",
} as const;

type Form = keyof typeof FORMS;
/** Other keywords decide nothing: prose, `format`, and what 2020-12 does not know. */
const FORM_OF = new Map(
  Object.entries(FORMS).flatMap(([form, names]) =>
    names.split(" ").map((name) => [name, form as Form] as const),
  ),
);

export const KEYWORDS: readonly string[] = [...FORM_OF.keys()];

export type SchemaCopy = Record<string, unknown>;

interface OpenSchema {
  copy: SchemaCopy;
  base: string;
  place: string;
}

interface Reference {
  scope: OpenSchema;
  keyword: string;
  text: string;
}

/**
 * Copies a schema that is valid by the meta-schema: without prose, data as canonical text,
 * references as absolute addresses inside it. Throws SchemaError.
 */
export function copySchema(parameters: Record<string, unknown>): SchemaCopy {
  return new SchemaCopier(parameters).run();
}

class SchemaCopier {
  readonly #root: Record<string, unknown>;
  readonly #resources: Map<string, object>;
  readonly #schemas = new Set<unknown>();
  readonly #anchors = new Set<string>();
  readonly #references: Reference[] = [];
  #patternsCount = 0;
  #patternsSize = 0;

  constructor(root: Record<string, unknown>) {
    this.#root = root;
    this.#resources = new Map([[HOME, root]]);
  }

  run(): SchemaCopy {
    const copy = this.#copySchema(this.#root, HOME, "") as SchemaCopy;
    for (const reference of this.#references) {
      reference.scope.copy[reference.keyword] = this.#resolve(reference);
    }
    return copy;
  }

  #copySchema(schema: unknown, base: string, place: string): unknown {
    this.#schemas.add(schema);
    if (typeof schema !== "object" || schema === null) return schema;
    const fields = schema as Record<string, unknown>;
    const scope: OpenSchema = { copy: {}, base, place };
    requireDialect(fields.$schema, place);
    if (Object.hasOwn(fields, "$id")) {
      scope.base = this.#nameResource(fields.$id as string, schema, scope);
      scope.copy.$id = scope.base;
    }
    for (const [keyword, value] of Object.entries(fields)) {
      const form = FORM_OF.get(keyword);
      if (form === undefined || form === "id") continue;
      scope.copy[keyword] = this.#copyKeyword(scope, form, keyword, value);
    }
    return scope.copy;
  }

  #copyKeyword(scope: OpenSchema, form: Form, keyword: string, value: unknown): unknown {
    const place = stepInto(scope.place, keyword);
    const copyInner = (schema: unknown, at: string) => this.#copySchema(schema, scope.base, at);
    switch (form) {
      case "schema":
        return copyInner(value, place);
      case "schemas":
        return (value as unknown[]).map((one, index) => copyInner(one, stepInto(place, index)));
      case "named": {
        const named = Object.entries(value as Record<string, unknown>).map(([name, schema]) => {
          const at = stepInto(place, name);
          if (keyword === "patternProperties") this.#countPattern(name, at);
          return [name, copyInner(schema, at)] as const;
        });
        // Unlike an assignment this makes a field of `__proto__` too.
        return Object.fromEntries(named);
      }
      // A text cannot be mistaken for a schema, and values are compared as texts.
      case "value":
        return writeCanonical(value);
      case "values":
        return (value as unknown[]).map(writeCanonical);
      case "reference":
        this.#references.push({ scope, keyword, text: value as string });
        return value;
      case "anchor":
        this.#nameAnchor(value as string, scope.base, place);
        return value;
      default:
        if (keyword === "pattern") this.#countPattern(value as string, place);
        return value;
    }
  }

  #nameResource(id: string, schema: object, scope: OpenSchema): string {
    const place = stepInto(scope.place, "$id");
    const [address, fragment] = splitAddress(id, scope.base, place);
    if (fragment !== "") throw new SchemaError(place, "must have no fragment");
    if ((this.#resources.get(address) ?? schema) !== schema) {
      throw new SchemaError(place, "must differ from every other `$id`");
    }
    this.#resources.set(address, schema);
    return address;
  }

  #nameAnchor(name: string, base: string, place: string): void {
    // The validator finds anchors by name in plain objects.
    if (name in {}) throw new SchemaError(place, "must have another name");
    const anchor = `${base}#${name}`;
    if (this.#anchors.has(anchor)) {
      throw new SchemaError(place, "must differ from every other anchor");
    }
    this.#anchors.add(anchor);
  }

  #resolve({ scope, keyword, text }: Reference): string {
    const place = stepInto(scope.place, keyword);
    const [address, fragment] = splitAddress(text, scope.base, place);
    const isPointer = fragment === "" || fragment.startsWith("/");
    const resource = this.#resources.get(address);
    const isKnown = isPointer
      ? resource !== undefined && this.#schemas.has(followPointer(fragment, resource))
      : this.#anchors.has(`${address}#${fragment}`);
    if (!isKnown) {
      throw new SchemaError(place, "must lead to a schema inside `parameters`: no other is read");
    }
    if (fragment === "") return address;
    return `${address}#${fragment.replace(ENCODED_IN_FRAGMENTS, encodeURIComponent)}`;
  }

  #countPattern(text: string, place: string): void {
    this.#patternsCount++;
    this.#patternsSize += estimateSize(text);
    if (this.#patternsCount > PATTERNS_MAX) {
      const problem = `is one pattern too many: at most ${PATTERNS_MAX} may stand in it`;
      throw new SchemaError(place, problem);
    }
    if (this.#patternsSize > PATTERN_SIZE_MAX) {
      const problem = "makes the patterns too large: repeats count as often as they say";
      throw new SchemaError(place, problem);
    }
  }
}

function requireDialect($schema: unknown, place: string): void {
  if ($schema === undefined) return;
  if (typeof $schema === "string" && $schema.replace(/#$/, "") === DIALECT) return;
  throw new SchemaError(stepInto(place, "$schema"), `must be "${DIALECT}", or be left out`);
}

function splitAddress(text: string, base: string, place: string): [string, string] {
  try {
    const url = new URL(text, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    return [url.href, fragment];
  } catch {
    throw new SchemaError(place, "must be a URI reference");
  }
}

function followPointer(pointer: string, root: object): unknown {
  let value: unknown = root;
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
