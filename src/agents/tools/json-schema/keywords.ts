// Keywords in place of the validator's own: patterns without backtracking, data compared by its
// canonical text, exact multiples, and lengths that are counted without a copy.
import { writeCanonical } from "../../../platform/json.ts";
import { countCodePoints } from "../output.ts";
import {
  type Browser,
  entries,
  type JsonNode,
  type Keyword,
  readValue,
  type SchemaDocument,
  Validation,
  type ValidationContext,
  value,
} from "./library.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { stepInto } from "./schema-error.ts";

type Schema = Browser<SchemaDocument>;
type KeywordContext = ValidationContext & { evaluatedProperties?: Set<string> };

export function ownId(name: string): string {
  return `urn:wadi:keyword/${name}`;
}

const pattern: Keyword<Pattern> = {
  id: ownId("pattern"),
  compile: (schema) => compilePattern(value(schema), schema.cursor),
  interpret: (pattern, node) => node.type !== "string" || pattern.test(readValue(node)),
};

export type Patterned = readonly (readonly [Pattern, string])[];

const patternProperties: Keyword<Patterned, KeywordContext> = {
  id: ownId("patternProperties"),
  async compile(schema, ast) {
    const patterned: [Pattern, string][] = [];
    for await (const [text, inner] of entries(schema)) {
      const pattern = await compilePattern(text, stepInto(schema.cursor, text));
      patterned.push([pattern, await Validation.compile(inner as Schema, ast, schema)]);
    }
    return patterned;
  },
  interpret: (patterned, node, context) =>
    checkProperties(node, context, (name) =>
      patterned.filter(([pattern]) => pattern.test(name)).map(([, url]) => url),
    ),
  simpleApplicator: true,
};

export interface Additional {
  names: ReadonlySet<string>;
  patterns: readonly Pattern[];
  url: string;
}

const additionalProperties: Keyword<Additional, KeywordContext> = {
  id: ownId("additionalProperties"),
  async compile(schema, ast, parent) {
    const beside = value<Record<string, object>>(parent);
    const patterns: Pattern[] = [];
    for (const text of Object.keys(beside.patternProperties ?? {})) {
      patterns.push(await compilePattern(text, stepInto(parent.cursor, "patternProperties")));
    }
    const names = new Set(Object.keys(beside.properties ?? {}));
    return { names, patterns, url: await Validation.compile(schema, ast, parent) };
  },
  interpret: ({ names, patterns, url }, node, context) =>
    checkProperties(node, context, (name) =>
      names.has(name) || patterns.some((pattern) => pattern.test(name)) ? [] : [url],
    ),
  simpleApplicator: true,
};

/** Checks each property by the schemas chosen for its name. */
function checkProperties(
  node: JsonNode,
  context: KeywordContext,
  choose: (name: string) => readonly string[],
): boolean {
  if (node.type !== "object") return true;
  let isValid = true;
  for (const { children } of node.children) {
    const name = readValue<string>(children[0]!);
    for (const url of choose(name)) {
      if (!Validation.interpret(url, children[1]!, context)) isValid = false;
      context.evaluatedProperties?.add(name);
    }
  }
  return isValid;
}

/** A keyword that compares a value with the keyword's own, unchanged value. */
function comparison<T>(
  name: string,
  interpret: (expected: T, node: JsonNode) => boolean,
): Keyword<T> {
  return { id: ownId(name), compile: async (schema) => value<T>(schema), interpret };
}

/** Compares in exact decimals: 19.99 is a multiple of 0.01. The divisor is above zero. */
function isMultiple(number: number, divisor: number): boolean {
  if (Number.isSafeInteger(number) && Number.isSafeInteger(divisor)) return number % divisor === 0;
  const [digits, exponent] = readDecimal(number);
  const [divisorDigits, divisorExponent] = readDecimal(divisor);
  const shift = exponent - divisorExponent;
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
}

/** The shortest decimal digits of a number, and the power of ten that they are multiplied by. */
function readDecimal(number: number): [digits: bigint, exponent: number] {
  const [mantissa = "", exponent = "0"] = Math.abs(number).toString().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

export const OWN_KEYWORDS: ReadonlyMap<string, Keyword<never>> = new Map(
  Object.entries({
    pattern,
    patternProperties,
    additionalProperties,
    const: comparison<string>("const", (text, node) => writeCanonical(readValue(node)) === text),
    enum: comparison<string[]>("enum", (texts, node) =>
      texts.includes(writeCanonical(readValue(node))),
    ),
    multipleOf: comparison<number>(
      "multipleOf",
      (divisor, node) => node.type !== "number" || isMultiple(readValue(node), divisor),
    ),
    minLength: comparison<number>(
      "minLength",
      (min, node) => node.type !== "string" || countCodePoints(readValue(node)) >= min,
    ),
    maxLength: comparison<number>(
      "maxLength",
      (max, node) => node.type !== "string" || countCodePoints(readValue(node)) <= max,
    ),
  }) as unknown as [string, Keyword<never>][],
);
