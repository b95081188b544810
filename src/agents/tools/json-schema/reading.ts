// Reads a caller's JSON Schema: keeps what decides about a value, and refuses what cannot be used.
import { writeCanonical } from "../../../platform/canonical.ts";
import { SchemaFault, stepInto } from "./fault.ts";
import { estimateSize } from "./pattern.ts";
import { type Copy, createReferences, HOME, type Mention, type References } from "./references.ts";
import { judgeWeight } from "./weight.ts";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
/** Compiling takes a few microseconds for each part of a pattern, summed over all patterns. */
const PATTERN_SIZE_MAX = 4_000;
/** Fewer than the automata that are kept: a check makes none of them twice. */
const PATTERNS_MAX = 100;

/** What stands behind a keyword; `plain` is taken over as it is. */
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
/** A keyword that is not here decides nothing: prose, `format`, and what 2020-12 does not know. */
const FORM_OF = new Map<string, Form>();
for (const [form, names] of Object.entries(FORMS)) {
  for (const name of names.split(" ")) FORM_OF.set(name, form as Form);
}

/** All that can decide about a value. */
export const KEYWORDS: readonly string[] = [...FORM_OF.keys()];

interface Reader {
  references: References;
  /** Every schema and its place. */
  places: Map<Copy, string>;
  patternsCount: number;
  patternsSize: number;
}

/**
 * The copy that is compiled: without prose, data as canonical text, and references as addresses.
 * The schema must be valid by the meta-schema: what stands where is believed. Throws SchemaFault.
 */
export function readSchema(parameters: Record<string, unknown>): Copy {
  const references = createReferences(parameters);
  const reader = { references, places: new Map(), patternsCount: 0, patternsSize: 0 };
  const copy = copySchema(reader, parameters, HOME, "") as Copy;
  judgeWeight(reader.places, references.resolve());
  return copy;
}

function copySchema(reader: Reader, schema: unknown, base: string, at: string): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  const fields = schema as Record<string, unknown>;
  const copy: Copy = {};
  reader.places.set(copy, at);
  reader.references.addPlace(schema, copy);
  const place: Place = { reader, base, at, copy };
  judgeDialect(fields.$schema, at);
  if (Object.hasOwn(fields, "$id")) {
    const mention = mentionIn(place, "$id", fields.$id);
    place.base = reader.references.nameResource(mention, schema);
    copy.$id = place.base;
  }
  for (const [name, value] of Object.entries(fields)) {
    const form = FORM_OF.get(name);
    if (form !== undefined && form !== "id") copy[name] = copyKeyword(place, form, name, value);
  }
  return copy;
}

/** A schema that is being copied. */
interface Place {
  reader: Reader;
  /** The address that references in it are relative to. */
  base: string;
  at: string;
  copy: Copy;
}

function mentionIn({ base, at, copy }: Place, keyword: string, text: unknown): Mention {
  return { keyword, text: text as string, base, at: stepInto(at, keyword), copy };
}

function copyKeyword(place: Place, form: Form, keyword: string, value: unknown): unknown {
  const { reader, base } = place;
  const at = stepInto(place.at, keyword);
  switch (form) {
    case "schema":
      return copySchema(reader, value, base, at);
    case "schemas":
      return (value as unknown[]).map((one, n) => copySchema(reader, one, base, stepInto(at, n)));
    case "named":
      return copyNamed(place, keyword, value as Record<string, unknown>);
    // As text nothing inside can be taken for a schema, and values are compared as texts.
    case "value":
      return writeCanonical(value);
    case "values":
      return (value as unknown[]).map(writeCanonical);
    case "reference":
      reader.references.add(mentionIn(place, keyword, value));
      return value;
    case "anchor":
      reader.references.nameAnchor(mentionIn(place, keyword, value));
      return value;
    default:
      if (keyword === "pattern") countPattern(reader, value as string, at);
      return value;
  }
}

function copyNamed(place: Place, keyword: string, named: Record<string, unknown>): unknown {
  const { reader, base } = place;
  // Unlike an assignment this makes a field of `__proto__` too.
  return Object.fromEntries(
    Object.entries(named).map(([name, schema]) => {
      const inner = stepInto(stepInto(place.at, keyword), name);
      if (keyword === "patternProperties") countPattern(reader, name, inner);
      return [name, copySchema(reader, schema, base, inner)];
    }),
  );
}

function countPattern(reader: Reader, text: string, at: string): void {
  reader.patternsCount++;
  reader.patternsSize += estimateSize(text);
  if (reader.patternsCount > PATTERNS_MAX) {
    throw new SchemaFault(at, `is one pattern too many: at most ${PATTERNS_MAX} may stand in it`);
  }
  if (reader.patternsSize > PATTERN_SIZE_MAX) {
    throw new SchemaFault(at, "makes the patterns too large: repeats count as often as they say");
  }
}

function judgeDialect($schema: unknown, at: string): void {
  if ($schema === undefined) return;
  if (typeof $schema === "string" && $schema.replace(/#$/, "") === DIALECT) return;
  throw new SchemaFault(stepInto(at, "$schema"), `must be "${DIALECT}", or be left out`);
}
