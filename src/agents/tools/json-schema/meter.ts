// Bounds the work of a check, and collects what it finds at fault.
import { type Additional, ownId, type Patterned } from "./keywords.ts";
import {
  type EvaluationPlugin,
  type JsonNode,
  readValue,
  type ValidationContext,
} from "./library.ts";
import type { Pattern } from "./pattern.ts";

/** Maximum work of a check; a step is about a tenth of a microsecond. */
const STEPS_MAX = 2_000_000;
/** Number of steps of one character in one part of an automaton. */
const PATTERN_STEPS = 0.2;
const DEPTH_MAX = 2_000;
/** Maximum faults kept of one keyword; fewer are shown. */
const FAULTS_MAX = 20;

export interface Fault {
  /** `false` is the schema that nothing fits. */
  keyword: string;
  expected: unknown;
  node: JsonNode;
  causes: Fault[][];
}

export class TooMuchWork extends Error {}

type MeterContext = ValidationContext & {
  /** Faults of the schemas inside this keyword, and those of the schema under way. */
  causes?: Fault[][];
  current?: Fault[] | undefined;
  schemaEvaluatedProperties?: Set<string>;
  schemaEvaluatedItems?: Set<number>;
};
type CompiledKeyword = [id: string, url: string, expected: unknown];

export class Meter implements EvaluationPlugin {
  readonly id = "urn:wadi:meter";
  #steps = 0;
  #depth = 0;
  #last: MeterContext | undefined;

  reset(): void {
    this.#steps = 0;
    this.#depth = 0;
    this.#last = undefined;
  }

  get faults(): Fault[] {
    return this.#last?.causes?.flat() ?? [];
  }

  beforeSchema(_url: string, _node: JsonNode, context: MeterContext): void {
    this.#spend(2);
    if (++this.#depth > DEPTH_MAX) throw new TooMuchWork();
    context.current = undefined;
  }

  beforeKeyword([id, , expected]: CompiledKeyword, node: JsonNode): void {
    this.#spend(1 + (STEPS.get(id) ?? countChildren)(node, expected as never));
  }

  afterKeyword(
    [id, , expected]: CompiledKeyword,
    node: JsonNode,
    context: MeterContext,
    isValid: boolean,
    outer: MeterContext,
  ): void {
    if (isValid) return;
    const keyword = id.slice(id.lastIndexOf("/") + 1);
    keepFault(outer, { keyword, expected, node, causes: context.causes ?? [] });
  }

  afterSchema(url: string, node: JsonNode, context: MeterContext, isValid: boolean): void {
    this.#depth--;
    // The validator copies these from each schema to the one around it.
    this.#spend(context.schemaEvaluatedProperties?.size ?? 0);
    this.#spend(context.schemaEvaluatedItems?.size ?? 0);
    if (!isValid && context.ast[url] === false) {
      keepFault(context, { keyword: "false", expected: false, node, causes: [] });
    }
    this.#last = context;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > STEPS_MAX) throw new TooMuchWork();
  }
}

function keepFault(context: MeterContext, fault: Fault): void {
  context.causes ??= [];
  if (!context.current) {
    if (context.causes.length === FAULTS_MAX) return;
    context.current = [];
    context.causes.push(context.current);
  }
  if (context.current.length < FAULTS_MAX) context.current.push(fault);
}

/** The steps of a keyword at one place of the value, without the schemas inside the keyword. */
type Work = (node: JsonNode, expected: never) => number;

const countChildren: Work = ({ children }) => children.length / 2;
const readText: Work = (node) => lengthOf(node) / 32;
const readList: Work = (_node, { length }: unknown[]) => length / 2;

const LIBRARY = "https://json-schema.org/keyword/";
const STEPS = new Map<string, Work>([
  [ownId("const"), writeValue],
  [ownId("enum"), (node, { length }: unknown[]) => writeValue(node) + length / 8],
  [ownId("multipleOf"), divide],
  [ownId("minLength"), readText],
  [ownId("maxLength"), readText],
  [ownId("pattern"), (node, pattern: Pattern) => match(lengthOf(node), [pattern])],
  [
    ownId("patternProperties"),
    (node, patterned: Patterned) =>
      matchNames(
        node,
        patterned.map(([pattern]) => pattern),
      ),
  ],
  [ownId("additionalProperties"), (node, { patterns }: Additional) => matchNames(node, patterns)],
  [`${LIBRARY}uniqueItems`, writeValue],
  [`${LIBRARY}required`, readList],
  [`${LIBRARY}dependentRequired`, readList],
  [`${LIBRARY}dependentSchemas`, readList],
]);

/** Each part of each automaton may look at each character. */
function match(characters: number, patterns: readonly Pattern[]): number {
  return patterns.reduce((steps, { size }) => steps + characters * size * PATTERN_STEPS, 0);
}

function matchNames({ type, children }: JsonNode, patterns: readonly Pattern[]): number {
  if (type !== "object") return 0;
  const names = children.reduce((length, { children: [name] }) => length + lengthOf(name!), 0);
  return children.length * (1 + patterns.length) + match(names, patterns);
}

/** Divisions of numbers of very different size have hundreds of digits. */
function divide(node: JsonNode, divisor: number): number {
  if (node.type !== "number") return 0;
  const size = Math.abs(Math.log10(Math.abs(readValue<number>(node)) || 1) - Math.log10(divisor));
  return 2 + size / 20;
}

function writeValue(node: JsonNode): number {
  let steps = 2 + lengthOf(node) / 32;
  for (const child of node.children) steps += writeValue(child);
  return steps;
}

function lengthOf(node: JsonNode): number {
  return node.type === "string" ? readValue<string>(node).length : 0;
}
