// What it costs to carry out a keyword, in steps of about a tenth of a microsecond.
import { type JsonNode, value as readValue } from "@hyperjump/json-schema/instance/experimental";
import type { Additional, Patterned } from "./keywords.ts";
import type { Pattern } from "./pattern.ts";

const LIBRARY = "https://json-schema.org/keyword/";
const OWN = "urn:wadi:keyword/";

/** The id of a keyword that we carry out ourselves. */
export function ownId(name: string): string {
  return OWN + name;
}

/** A keyword's own name, which is the end of its id. */
export function nameOf(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** The steps of a keyword at a place of the value, without those of the schemas inside it. */
export function weigh(id: string, asked: unknown, node: JsonNode): number {
  const steps = STEPS.get(id) ?? weighChildren;
  return 1 + (steps as Weight<unknown>)(node, asked);
}

/** What the patterns of a keyword may cost: characters, each as often as an automaton has parts. */
export function weighPatterns(id: string, asked: unknown, node: JsonNode): number {
  const parts = PARTS.get(id) as Weight<unknown> | undefined;
  return parts ? parts(node, asked) : 0;
}

type Weight<A> = (node: JsonNode, asked: A) => number;

const weighChildren: Weight<unknown> = ({ children }) => children.length / 2;
const weighText: Weight<unknown> = (node) => lengthOf(node) / 32;
const weighList: Weight<unknown[]> = (_node, { length }) => length / 2;

/** Numbers of very different size are taken to hundreds of digits before they are divided. */
function weighMultiple(node: JsonNode, divisor: number): number {
  if (node.type !== "number") return 0;
  const size = Math.abs(Math.log10(Math.abs(readValue<number>(node)) || 1) - Math.log10(divisor));
  return 2 + size / 20;
}

const STEPS = new Map<string, Weight<never>>([
  [ownId("const"), weighWriting],
  [ownId("enum"), (node, { length }: unknown[]) => weighWriting(node) + length / 8],
  [ownId("multipleOf"), (node, divisor: number) => weighMultiple(node, divisor)],
  [ownId("minLength"), weighText],
  [ownId("maxLength"), weighText],
  [
    ownId("patternProperties"),
    ({ children }, { length }: Patterned) => children.length * (1 + length),
  ],
  [
    ownId("additionalProperties"),
    ({ children }, { patterns }: Additional) => children.length * (1 + patterns.length),
  ],
  [`${LIBRARY}uniqueItems`, weighWriting],
  [`${LIBRARY}required`, weighList],
  [`${LIBRARY}dependentRequired`, weighList],
  [`${LIBRARY}dependentSchemas`, weighList],
]);

const PARTS = new Map<string, Weight<never>>([
  [ownId("pattern"), (node, { size }: Pattern) => lengthOf(node) * size],
  [
    ownId("patternProperties"),
    (node, patterned: Patterned) => countNames(node) * sum(patterned.map(([one]) => one)),
  ],
  [
    ownId("additionalProperties"),
    (node, { patterns }: Additional) => countNames(node) * sum(patterns),
  ],
]);

function sum(patterns: readonly Pattern[]): number {
  return patterns.reduce((size, pattern) => size + pattern.size, 0);
}

/** The characters of an object's names. */
function countNames(node: JsonNode): number {
  if (node.type !== "object") return 0;
  return node.children.reduce((length, { children }) => length + lengthOf(children[0]!), 0);
}

function lengthOf(node: JsonNode): number {
  return node.type === "string" ? readValue<string>(node).length : 0;
}

/** The steps of writing a value as text, by which data are compared. */
function weighWriting(node: JsonNode): number {
  let steps = 2 + lengthOf(node) / 32;
  for (const child of node.children) steps += weighWriting(child);
  return steps;
}
