// Keywords that we carry out ourselves: patterns without backtracking, data by its canonical text,
// exact multiples, and lengths that are counted without a copy.
import { type Browser, entries, value } from "@hyperjump/browser";
import {
  type Keyword,
  type SchemaDocument,
  Validation,
  type ValidationContext,
} from "@hyperjump/json-schema/experimental";
import { type JsonNode, value as readValue } from "@hyperjump/json-schema/instance/experimental";
import { writeCanonical } from "../../../platform/canonical.ts";
import { stepInto } from "./fault.ts";
import { isMultiple } from "./multiple.ts";
import { openPattern, type Pattern } from "./pattern.ts";
import { ownId } from "./work.ts";

type Schema = Browser<SchemaDocument>;
type Ast = ValidationContext["ast"];
/** With the names that `unevaluatedProperties` need not look at. */
type Looking = ValidationContext & { evaluatedProperties?: Set<string> };

/** One automaton for each pattern of a schema, in however many keywords it stands. */
const automata = new WeakMap<Ast, Map<string, Pattern>>();

async function openOnce(ast: Ast, text: string, at: string): Promise<Pattern> {
  const known = automata.get(ast) ?? new Map<string, Pattern>();
  automata.set(ast, known);
  const pattern = known.get(text) ?? (await openPattern(text, at));
  known.set(text, pattern);
  return pattern;
}

const pattern: Keyword<Pattern> = {
  id: ownId("pattern"),
  compile: (schema, ast) => openOnce(ast, value(schema), schema.cursor),
  interpret: (pattern, node) => node.type !== "string" || pattern.test(readValue(node)),
};

/** Each pattern, and the address of what it asks of a property in whose name it is found. */
export type Patterned = readonly (readonly [Pattern, string])[];

const patternProperties: Keyword<Patterned, Looking> = {
  id: ownId("patternProperties"),
  async compile(schema, ast) {
    const patterned: [Pattern, string][] = [];
    for await (const [text, inner] of entries(schema)) {
      const pattern = await openOnce(ast, text, stepInto(schema.cursor, text));
      patterned.push([pattern, await Validation.compile(inner as Schema, ast, schema)]);
    }
    return patterned;
  },
  interpret(patterned, node, context) {
    let isValid = true;
    for (const [name, inner] of readProperties(node)) {
      for (const [pattern, url] of patterned) {
        if (!pattern.test(name)) continue;
        if (!Validation.interpret(url, inner, context)) isValid = false;
        context.evaluatedProperties?.add(name);
      }
    }
    return isValid;
  },
  simpleApplicator: true,
};

/** What the keywords beside `additionalProperties` look at. */
export interface Additional {
  names: ReadonlySet<string>;
  patterns: readonly Pattern[];
  /** The address of what is asked of all others. */
  url: string;
}

const additionalProperties: Keyword<Additional, Looking> = {
  id: ownId("additionalProperties"),
  async compile(schema, ast, parent) {
    const beside = value<Record<string, object>>(parent);
    const patterns: Pattern[] = [];
    for (const text of Object.keys(beside.patternProperties ?? {})) {
      patterns.push(await openOnce(ast, text, stepInto(parent.cursor, "patternProperties")));
    }
    const names = new Set(Object.keys(beside.properties ?? {}));
    return { names, patterns, url: await Validation.compile(schema, ast, parent) };
  },
  interpret({ names, patterns, url }, node, context) {
    let isValid = true;
    for (const [name, inner] of readProperties(node)) {
      if (names.has(name) || patterns.some((pattern) => pattern.test(name))) continue;
      if (!Validation.interpret(url, inner, context)) isValid = false;
      context.evaluatedProperties?.add(name);
    }
    return isValid;
  },
  simpleApplicator: true,
};

function* readProperties(node: JsonNode): Generator<[string, JsonNode]> {
  if (node.type !== "object") return;
  for (const { children } of node.children) yield [readValue<string>(children[0]!), children[1]!];
}

const constant: Keyword<string> = {
  id: ownId("const"),
  compile: async (schema) => value<string>(schema),
  interpret: (text, node) => writeCanonical(readValue(node)) === text,
};

const choice: Keyword<readonly string[]> = {
  id: ownId("enum"),
  compile: async (schema) => value<string[]>(schema),
  interpret: (texts, node) => texts.includes(writeCanonical(readValue(node))),
};

const multipleOf: Keyword<number> = {
  id: ownId("multipleOf"),
  compile: async (schema) => value<number>(schema),
  interpret: (divisor, node) => node.type !== "number" || isMultiple(readValue(node), divisor),
};

const minLength: Keyword<number> = {
  id: ownId("minLength"),
  compile: async (schema) => value<number>(schema),
  interpret: (min, node) => node.type !== "string" || countCodePoints(readValue(node)) >= min,
};

const maxLength: Keyword<number> = {
  id: ownId("maxLength"),
  compile: async (schema) => value<number>(schema),
  interpret: (max, node) => node.type !== "string" || countCodePoints(readValue(node)) <= max,
};

function countCodePoints(text: string): number {
  let count = text.length;
  // A character beyond the first 65,536 is two units, of which the first is a high surrogate.
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--;
  return count;
}

/** By name. Each takes the place of the library's own. */
export const OWN_KEYWORDS: ReadonlyMap<string, Keyword<never>> = new Map(
  Object.entries({
    pattern,
    patternProperties,
    additionalProperties,
    const: constant,
    enum: choice,
    multipleOf,
    minLength,
    maxLength,
  }) as unknown as [string, Keyword<never>][],
);
