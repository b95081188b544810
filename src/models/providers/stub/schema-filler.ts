// Makes values of JSON Schemas for the stub model: arguments of a call, and documents that fit.
import { isObject } from "../../../platform/json.ts";
import { takeCodePoints } from "../../tokens.ts";
import { writeMatch } from "./pattern.ts";

type StubSchema = Record<string, unknown>;

const NOTHING = Symbol("nothing");

interface FillStyle {
  depthMax: number;
  /** Items of a list without a length of its own. */
  itemsMin: number;
  /** Value beyond the bounds; after `NOTHING` the next variant is tried. */
  fallback: null | typeof NOTHING;
}
const ARGUMENTS: FillStyle = { depthMax: 8, itemsMin: 1, fallback: null };
const DOCUMENT: FillStyle = { depthMax: 16, itemsMin: 0, fallback: NOTHING };

/** Maximum work and length of one value, since schemas may repeat and contain themselves. */
const BUDGET = 262_144;
/** Minimum cost of a value, which allows some 500 values. */
const VALUE_COST = 500;
const NAME_COST = 80;
/** Maximum names and variants of one schema that are read. */
const NAMES_MAX = 500;
/** Maximum references in a row, and parts of an `allOf`. */
const STEPS_MAX = 8;
const MESSAGE_CHARACTERS_MAX = 1_000;
const TEXT_CHARACTERS_MAX = 10_000;
/** Numbers that stand alone: neither the 2 of "add2" nor the 11 of "2026-11". */
const NUMBERS = /(?<![\w.-])-?[0-9]{1,15}(?:\.[0-9]{1,15})?/g;

const KEYWORDS = [
  ...["type", "const", "enum", "default", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["items", "prefixItems", "minItems", "maxItems", "additionalProperties", "anyOf", "oneOf"],
];
const FORMATS: Record<string, string> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  duration: "PT1S",
  email: "someone@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/** Writes every required property; numbers come from the message in their order. */
export function writeArguments(parameters: StubSchema | undefined, message: string): string {
  const value = new SchemaFiller(parameters ?? {}, message, ARGUMENTS).fill(parameters, 0);
  return JSON.stringify(isObject(value) ? value : {});
}

export function writeDocument(schema: StubSchema, message: string): string {
  const value = new SchemaFiller(schema, message, DOCUMENT).fill(schema, 0);
  return JSON.stringify(value === NOTHING ? null : value);
}

class SchemaFiller {
  readonly #root: StubSchema;
  readonly #text: string;
  readonly #numbers: Iterator<RegExpExecArray>;
  readonly #style: FillStyle;
  #budget = BUDGET;

  constructor(root: StubSchema, message: string, style: FillStyle) {
    this.#root = root;
    this.#text = takeCodePoints(message, MESSAGE_CHARACTERS_MAX) || "text";
    this.#numbers = message.matchAll(NUMBERS);
    this.#style = style;
  }

  fill(part: unknown, depth: number): unknown {
    const { depthMax, fallback } = this.#style;
    this.#budget -= VALUE_COST;
    if (this.#budget < 0 || depth > depthMax) return fallback;
    const schema = this.#resolve(part);
    if ("const" in schema) return this.#charge(schema.const);
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return this.#charge(schema.enum[0]);
    if ("default" in schema) return this.#charge(schema.default);
    const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
    return variants ? this.#fillVariant(schema, variants, depth) : this.#fillType(schema, depth);
  }

  #charge(value: unknown): unknown {
    this.#budget -= JSON.stringify(value).length;
    return this.#budget < 0 ? this.#style.fallback : value;
  }

  /** Documents take the first variant that fits, simple ones first: others may never end. */
  #fillVariant(schema: StubSchema, variants: unknown[], depth: number): unknown {
    const isDocument = this.#style === DOCUMENT;
    const { anyOf: _, oneOf: __, ...own } = schema;
    const some = variants
      .slice(0, NAMES_MAX)
      .filter((one) => !isObject(one) || one.type !== "null");
    const hasNull = some.length < variants.length;
    if (hasNull && (isDocument || some.length === 0)) return null;
    for (const variant of isDocument ? some.toSorted(compareWeight) : some.slice(0, 1)) {
      const value = this.fill(join(own, this.#resolve(variant)), depth + 1);
      if (value !== NOTHING) return value;
    }
    return NOTHING;
  }

  #fillType(schema: StubSchema, depth: number): unknown {
    const types = typesOf(schema);
    if (this.#style === DOCUMENT && types.includes("null")) return null;
    switch (types.find((one) => one !== "null") ?? "null") {
      case "object":
        return this.#fillObject(schema, depth);
      case "array":
        return this.#fillList(schema, depth);
      case "integer":
        return fitNumber(Math.trunc(this.#nextNumber()), schema, 1);
      case "number":
        return fitNumber(this.#nextNumber(), schema, null);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return this.#charge(fitText(this.#text, schema));
    }
  }

  #fillObject(schema: StubSchema, depth: number) {
    const fields = listRequired(schema).map((name) => {
      const inner = pick(schema.properties, name) ?? schema.additionalProperties;
      return [name, this.fill(inner, depth + 1)] as const;
    });
    // `fromEntries` makes `__proto__` a property like any other.
    return fields.some(([, value]) => value === NOTHING) ? NOTHING : Object.fromEntries(fields);
  }

  #fillList({ items, prefixItems, minItems, maxItems }: StubSchema, depth: number) {
    const wanted = Math.max(this.#style.itemsMin, numberOr(minItems, 0));
    const length = Math.min(wanted, numberOr(maxItems, wanted), NAMES_MAX);
    const first = Array.isArray(prefixItems) ? prefixItems : [];
    const list = Array.from({ length }, (_, n) => this.fill(first[n] ?? items, depth + 1));
    return list.includes(NOTHING) ? NOTHING : list;
  }

  #nextNumber(): number {
    return Number(this.#numbers.next().value?.[0] ?? 1);
  }

  /** Follows references and joins `allOf`; anything that is no schema becomes {}. */
  #resolve(part: unknown): StubSchema {
    let schema = part;
    for (let step = 0; step < STEPS_MAX && isObject(schema) && this.#budget >= 0; step++) {
      if (typeof schema.$ref === "string") schema = this.#follow(schema.$ref);
      else if (Array.isArray(schema.allOf)) schema = this.#joinAll(schema, schema.allOf);
      else {
        this.#budget -= NAME_COST * listRequired(schema).length;
        return schema;
      }
    }
    return {};
  }

  /** Leaves out what the parts join in turn, so that no schema leads back to itself. */
  #joinAll({ allOf: _, ...own }: StubSchema, parts: unknown[]): StubSchema {
    return parts.slice(0, STEPS_MAX).reduce<StubSchema>((sum, part) => {
      const isReference = isObject(part) && typeof part.$ref === "string";
      const found = isReference ? this.#follow(part.$ref as string) : part;
      return isObject(found) ? join(sum, found) : sum;
    }, own);
  }

  /** Finds "#/$defs/Place"; only the same document is searched. */
  #follow(reference: string): unknown {
    const [start, ...names] = reference.split("/", 2 * STEPS_MAX);
    if (start !== "#") return undefined;
    return names.reduce<unknown>((schema, name) => pick(schema, name), this.#root);
  }
}

function join(one: StubSchema, other: StubSchema): StubSchema {
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

function listRequired({ required }: StubSchema): string[] {
  if (!Array.isArray(required)) return [];
  return required.slice(0, NAMES_MAX).filter((name) => typeof name === "string");
}

function typesOf(schema: StubSchema): unknown[] {
  const { type, properties, required, items, prefixItems } = schema;
  if (Array.isArray(type)) return type.slice(0, STEPS_MAX);
  if (type !== undefined) return [type];
  if (properties || required) return ["object"];
  if (items || prefixItems) return ["array"];
  return ["minimum" in schema || "maximum" in schema ? "number" : "string"];
}

/** Weights of variants by type; references weigh most, as they may be recursive. */
const WEIGHTS: Readonly<Record<string, number>> = { array: 1, object: 2 };
function compareWeight(one: unknown, other: unknown): number {
  const weigh = (schema: unknown) =>
    isObject(schema) && !schema.$ref ? (WEIGHTS[String(typesOf(schema)[0])] ?? 0) : 3;
  return weigh(one) - weigh(other);
}

function fitText(text: string, schema: StubSchema): string {
  const { format, pattern, minLength, maxLength } = schema;
  const lengthMin = Math.min(numberOr(minLength, 0), TEXT_CHARACTERS_MAX);
  const match = typeof pattern === "string" ? writeMatch(pattern, lengthMin) : null;
  const known = match ?? pick(FORMATS, String(format));
  if (typeof known === "string") return known;
  const cut = typeof maxLength === "number" ? takeCodePoints(text, maxLength) : text;
  return cut + "x".repeat(Math.max(0, lengthMin - [...cut].length));
}

function fitNumber(wanted: number, schema: StubSchema, step: number | null): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const above = numberOr(exclusiveMinimum, -Infinity);
  const below = numberOr(exclusiveMaximum, Infinity);
  const lowest = Math.max(numberOr(minimum, -Infinity), above);
  const highest = Math.min(numberOr(maximum, Infinity), below);
  const near = Math.min(Math.max(wanted, lowest), highest);
  const unit = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : step;
  const fits = (value: number) =>
    value >= lowest && value <= highest && value !== above && value !== below;
  if (unit === null) {
    if (fits(near)) return near;
    if (Number.isFinite(lowest + highest)) return (lowest + highest) / 2;
    return near === above ? near + 1 : near - 1;
  }
  const count = Math.round(near / unit);
  const multiples = [count, count + 1, count - 1].map((n) => Number((n * unit).toPrecision(15)));
  return multiples.find((value) => Number.isFinite(value) && fits(value)) ?? near;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function pick(from: unknown, name: string): unknown {
  return isObject(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}
