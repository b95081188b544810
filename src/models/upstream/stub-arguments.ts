// What the stub model calls a tool with: arguments made of the tool's schema and the message.
import { takeCodePoints } from "../tokens.ts";

type Schema = Record<string, unknown>;

const DEPTH_MAX = 8;
/** Values in all: a schema that refers to itself many times over must not grow without end. */
const VALUES_MAX = 100;
/** As much of the message as one field repeats. */
const TEXT_MAX = 1_000;
/** Numbers that stand by themselves: neither the 2 of "add2" nor the 11 of "2026-11". */
const NUMBERS = /(?<![\w.-])-?[0-9]{1,15}(?:\.[0-9]{1,15})?/g;

const FORMATS: Record<string, string> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  email: "someone@example.com",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/** JSON text with every required property; numbers are taken from the message in their order. */
export function writeArguments(parameters: Schema | undefined, message: string): string {
  const value = createFiller(parameters ?? {}, message)(parameters, 0);
  return JSON.stringify(isSchema(value) ? value : {});
}

/** A function that makes a value of any schema inside `root`. */
function createFiller(root: Schema, message: string) {
  const numbers = message.matchAll(NUMBERS);
  const text = takeCodePoints(message, TEXT_MAX) || "text";
  let values = 0;

  const fill = (given: unknown, depth: number): unknown => {
    if (++values > VALUES_MAX || depth > DEPTH_MAX) return null;
    const schema = resolve(given, root);
    if ("const" in schema) return schema.const;
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
    if ("default" in schema) return schema.default;
    switch (typeOf(schema)) {
      case "object":
        return fillObject(schema, depth);
      case "array":
        return schema.maxItems === 0 ? [] : [fill(schema.items, depth + 1)];
      case "integer":
        return clamp(Math.trunc(nextNumber()), schema);
      case "number":
        return clamp(nextNumber(), schema);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return fillText(schema);
    }
  };
  const fillObject = ({ properties, required }: Schema, depth: number) => {
    const names = Array.isArray(required)
      ? required.filter((name) => typeof name === "string")
      : [];
    // From entries, so that a property named `__proto__` is one like any other.
    return Object.fromEntries(
      names.slice(0, VALUES_MAX).map((name) => [name, fill(pick(properties, name), depth + 1)]),
    );
  };
  const fillText = ({ format, maxLength }: Schema) => {
    const known = pick(FORMATS, String(format));
    if (known !== undefined) return known;
    return typeof maxLength === "number" ? takeCodePoints(text, maxLength) : text;
  };
  const nextNumber = () => Number(numbers.next().value?.[0] ?? 1);
  return fill;
}

/** The schema behind references and the first variant that is not null; {} for what is none. */
function resolve(given: unknown, root: Schema): Schema {
  let schema = given;
  for (let step = 0; step < DEPTH_MAX && isSchema(schema); step++) {
    const variants = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray);
    if (typeof schema.$ref === "string") schema = follow(schema.$ref, root);
    else if (variants && !schema.type && !schema.properties)
      schema = variants.find((one) => !isSchema(one) || one.type !== "null");
    else return schema;
  }
  return {};
}

/** "#/$defs/Place": only what stands in the same document. */
function follow(reference: string, root: Schema): unknown {
  const [start, ...names] = reference.split("/", 2 * DEPTH_MAX);
  if (start !== "#") return undefined;
  return names.reduce<unknown>((schema, name) => pick(schema, name), root);
}

/** The type that a schema names or, by the words it uses, means. */
function typeOf({ type, properties, required, items }: Schema): unknown {
  if (Array.isArray(type)) return type.find((one) => one !== "null");
  if (type !== undefined) return type;
  if (properties || required) return "object";
  return items ? "array" : "string";
}

function clamp(value: number, { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema) {
  const lowest = [minimum, plus(exclusiveMinimum, 1)].filter((bound) => typeof bound === "number");
  const highest = [maximum, plus(exclusiveMaximum, -1)].filter(
    (bound) => typeof bound === "number",
  );
  return Math.min(Math.max(value, ...lowest), ...highest);
}

function plus(bound: unknown, step: number): unknown {
  return typeof bound === "number" ? bound + step : undefined;
}

function pick(from: unknown, name: string): unknown {
  return isSchema(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
