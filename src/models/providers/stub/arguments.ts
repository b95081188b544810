// What the stub model makes of JSON Schemas: the arguments of a call, and a document that fits.
import { takeCodePoints } from "../../tokens.ts";
import {
  isSchema,
  join,
  listRequired,
  NAMES_MAX,
  pick,
  resolve,
  type StubSchema,
  typesOf,
} from "./json-schema.ts";
import { writeMatch } from "./pattern.ts";

/** What tells one use of the filler from the other. */
interface Style {
  depth_max: number;
  /** Values in all: a schema that refers to itself many times over must not grow without end. */
  values_max: number;
  /** Of a list that says nothing of its length. */
  items_min: number;
  /** What stands where the bounds are reached; `NOTHING`: then something else is tried. */
  beyond: null | typeof NOTHING;
}

/** No value that fits was found. */
const NOTHING = Symbol("nothing");
const ARGUMENTS: Style = { depth_max: 8, values_max: 100, items_min: 1, beyond: null };
const DOCUMENT: Style = { depth_max: 16, values_max: NAMES_MAX, items_min: 0, beyond: NOTHING };

/** Names of all objects together, each time that they are looked at. */
const NAMES_IN_ALL_MAX = 3_000;
/** As much of the message as one field repeats. */
const TEXT_MAX = 1_000;
/** No text is made longer than this, whatever its schema wants. */
const LENGTH_MAX = 10_000;
/** Characters of all values together: a schema may name a long one in many places. */
const CHARACTERS_IN_ALL_MAX = 262_144;
/** Numbers that stand by themselves: neither the 2 of "add2" nor the 11 of "2026-11". */
const NUMBERS = /(?<![\w.-])-?[0-9]{1,15}(?:\.[0-9]{1,15})?/g;

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

/** JSON text with every required property; numbers are taken from the message in their order. */
export function writeArguments(parameters: StubSchema | undefined, message: string): string {
  const value = createFiller(parameters ?? {}, message, ARGUMENTS)(parameters, 0);
  return JSON.stringify(isSchema(value) ? value : {});
}

/** JSON text that fits a schema, with no more in it than that takes; null: none was found. */
export function writeDocument(schema: StubSchema, message: string): string {
  const value = createFiller(schema, message, DOCUMENT)(schema, 0);
  return JSON.stringify(value === NOTHING ? null : value);
}

/** A function that makes a value of any schema inside `root`. */
function createFiller(root: StubSchema, message: string, style: Style) {
  const numbers = message.matchAll(NUMBERS);
  const text = takeCodePoints(message, TEXT_MAX) || "text";
  const { depth_max, values_max, items_min, beyond } = style;
  let values = 0;
  let names = 0;
  let characters = 0;

  const open = (given: unknown): StubSchema => {
    if (names > NAMES_IN_ALL_MAX) return {};
    const schema = resolve(given, root);
    names += listRequired(schema).length;
    return schema;
  };
  /** What the schema names itself may be long, and stand in many places. */
  const weigh = (value: unknown): unknown => {
    characters += JSON.stringify(value).length;
    return characters > CHARACTERS_IN_ALL_MAX ? beyond : value;
  };
  const fill = (given: unknown, depth: number): unknown => {
    if (++values > values_max || depth > depth_max || names > NAMES_IN_ALL_MAX) return beyond;
    if (characters > CHARACTERS_IN_ALL_MAX) return beyond;
    const schema = open(given);
    if ("const" in schema) return weigh(schema.const);
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return weigh(schema.enum[0]);
    if ("default" in schema) return weigh(schema.default);
    const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
    return variants ? fillVariant(schema, variants, depth) : fillType(schema, depth);
  };
  /** The first that something fits; one that is simple comes before one that may go on for ever. */
  const fillVariant = (schema: StubSchema, variants: unknown[], depth: number): unknown => {
    const { anyOf: _, oneOf: __, ...own } = schema;
    const some = variants.slice(0, style.values_max).filter((one) => !isNull(one));
    const hasNull = some.length < variants.length;
    if (hasNull && (beyond === NOTHING || some.length === 0)) return null;
    for (const variant of beyond === NOTHING ? some.toSorted(compareWeight) : some.slice(0, 1)) {
      const value = fill(join(own, open(variant)), depth + 1);
      if (value !== NOTHING) return value;
    }
    return NOTHING;
  };
  const fillType = (schema: StubSchema, depth: number): unknown => {
    const types = typesOf(schema);
    if (beyond === NOTHING && types.includes("null")) return null;
    switch (types.find((one) => one !== "null") ?? "null") {
      case "object":
        return fillObject(schema, depth);
      case "array":
        return fillList(schema, depth);
      case "integer":
        return fitNumber(Math.trunc(nextNumber()), schema, 1);
      case "number":
        return fitNumber(nextNumber(), schema, null);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return weigh(fitText(text, schema));
    }
  };
  const fillObject = (schema: StubSchema, depth: number) => {
    const required = listRequired(schema).slice(0, values_max);
    const fields = required.map((name) => {
      const inner = pick(schema.properties, name) ?? schema.additionalProperties;
      return [name, fill(inner, depth + 1)] as const;
    });
    // From entries, so that a property named `__proto__` is one like any other.
    return fields.some(([, value]) => value === NOTHING) ? NOTHING : Object.fromEntries(fields);
  };
  const fillList = ({ items, prefixItems, minItems, maxItems }: StubSchema, depth: number) => {
    const wanted = Math.max(items_min, numberOr(minItems, 0));
    const length = Math.min(wanted, numberOr(maxItems, wanted), values_max);
    const first = Array.isArray(prefixItems) ? prefixItems : [];
    const list = Array.from({ length }, (_, n) => fill(first[n] ?? items, depth + 1));
    return list.includes(NOTHING) ? NOTHING : list;
  };
  const nextNumber = () => Number(numbers.next().value?.[0] ?? 1);
  return fill;
}

function isNull(schema: unknown): boolean {
  return isSchema(schema) && schema.type === "null";
}

/** What refers to something else may refer to what it stands in. */
const WEIGHTS: Readonly<Record<string, number>> = { array: 1, object: 2 };
function compareWeight(one: unknown, other: unknown): number {
  const weigh = (schema: unknown) =>
    isSchema(schema) && !schema.$ref ? (WEIGHTS[String(typesOf(schema)[0])] ?? 0) : 3;
  return weigh(one) - weigh(other);
}

function fitText(text: string, schema: StubSchema): string {
  const { format, pattern, minLength, maxLength } = schema;
  const length_min = Math.min(numberOr(minLength, 0), LENGTH_MAX);
  const match = typeof pattern === "string" ? writeMatch(pattern, length_min) : null;
  const known = match ?? pick(FORMATS, String(format));
  if (typeof known === "string") return known;
  const cut = typeof maxLength === "number" ? takeCodePoints(text, maxLength) : text;
  return cut + "x".repeat(Math.max(0, length_min - [...cut].length));
}

/** The nearest number within the bounds that is a multiple of what is asked for. */
function fitNumber(wanted: number, schema: StubSchema, step: number | null): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const [above, below] = [
    numberOr(exclusiveMinimum, -Infinity),
    numberOr(exclusiveMaximum, Infinity),
  ];
  const lowest = Math.max(numberOr(minimum, -Infinity), above);
  const highest = Math.min(numberOr(maximum, Infinity), below);
  const near = Math.min(Math.max(wanted, lowest), highest);
  const unit = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : step;
  const isOut = (value: number) =>
    value < lowest || value > highest || value === above || value === below;
  if (unit === null) {
    if (!isOut(near)) return near;
    if (Number.isFinite(lowest + highest)) return (lowest + highest) / 2;
    return near === above ? near + 1 : near - 1;
  }
  const count = Math.round(near / unit);
  const multiples = [count, count + 1, count - 1].map((n) => Number((n * unit).toPrecision(15)));
  return multiples.find((value) => Number.isFinite(value) && !isOut(value)) ?? near;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
