// Writes the faults of a value as sentences, each with the path of what is at fault.
import { shorten } from "../../../platform/text.ts";
import { type JsonNode, readValue } from "./library.ts";
import type { Fault } from "./meter.ts";
import type { Pattern } from "./pattern.ts";

const WORDS_MAX = 20;

const DEMANDS: Record<string, (expected: never, value: never) => string> = {
  type: (types: string | string[]) => `must be ${join([types].flat().map(nameType), "or")}`,
  const: (text: string) => `must be ${shorten(text)}`,
  enum: (texts: string[]) => `must be one of ${join(texts, "or")}`,
  minimum: (min: number) => `must be at least ${min}`,
  maximum: (max: number) => `must be at most ${max}`,
  exclusiveMinimum: (min: number) => `must be more than ${min}`,
  exclusiveMaximum: (max: number) => `must be less than ${max}`,
  multipleOf: (divisor: number) => `must be a multiple of ${divisor}`,
  minLength: (min: number) => `must have a length of at least ${count(min, "character")}`,
  maxLength: (max: number) => `must have a length of at most ${count(max, "character")}`,
  // The meta-schema's patterns are the validator's own.
  pattern: (pattern: Pattern | RegExp) =>
    `must match the pattern ${shorten(pattern instanceof RegExp ? pattern.source : pattern.text)}`,
  minItems: (min: number) => `must have at least ${count(min, "item")}`,
  maxItems: (max: number) => `must have at most ${count(max, "item")}`,
  uniqueItems: () => "must have no item twice",
  contains: ({ minContains, maxContains }: { minContains: number; maxContains: number }) =>
    maxContains === Number.MAX_SAFE_INTEGER
      ? `must have at least ${count(minContains, "item")} of the kind that is asked for`
      : `must have ${minContains} to ${maxContains} items of the kind that is asked for`,
  minProperties: (min: number) => `must have at least ${count(min, "field")}`,
  maxProperties: (max: number) => `must have at most ${count(max, "field")}`,
  required: (names: string[], value: object) => demandFields(names, value),
  dependentRequired: (dependent: [string, string[]][], value: object) => {
    const broken = dependent.find(
      ([name, needs]) => Object.hasOwn(value, name) && listMissing(needs, value).length > 0,
    );
    const [name, needs] = broken ?? ["", []];
    return `${demandFields(needs, value)}, since it has ${shorten(JSON.stringify(name))}`;
  },
  anyOf: () => "must fit at least one of the alternatives",
  oneOf: () => "must fit exactly one of the alternatives",
  not: () => "must not be what is ruled out here",
};

function demandFields(names: readonly string[], value: object): string {
  const missing = listMissing(names, value).map((name) => JSON.stringify(name));
  return `must have the field ${join(missing, "and")}`;
}

function listMissing(names: readonly string[], value: object): string[] {
  return names.filter((name) => !Object.hasOwn(value, name));
}

export function* writeFaults(faults: readonly Fault[], root: string): Generator<string> {
  for (const fault of faults) {
    const { keyword, expected, node } = fault;
    const place = writePlace(node, root);
    const demand = DEMANDS[keyword] as ((...of: unknown[]) => string) | undefined;
    if (keyword === "false") yield `${place} ${writeUnexpected(node)}.`;
    else if (demand) yield `${place} ${demand(expected, readValue(node))}.`;
    for (const causes of chooseCauses(fault)) yield* writeFaults(causes, root);
  }
}

/** Keeps the alternative nearest to the value; others would not explain the fault. */
function chooseCauses({ keyword, causes }: Fault): Fault[][] {
  if (keyword === "anyOf" || keyword === "oneOf") {
    const [nearest] = causes.toSorted((one, other) => one.length - other.length);
    return nearest ? [nearest] : [];
  }
  // Most items need not match, so their faults would mislead.
  return keyword === "contains" ? [] : causes;
}

function writePlace({ pointer }: JsonNode, root: string): string {
  // The validator marks a property's name by a leading `*`.
  if (pointer.startsWith("*")) return `${pointer.slice(1)}: The field's name`;
  return pointer === "" ? `${root}:` : `${pointer}:`;
}

function writeUnexpected({ parent }: JsonNode): string {
  if (parent?.type === "property") return "Unexpected property";
  return parent?.type === "array" ? "Unexpected item" : "Unexpected value";
}

const TYPES: Record<string, string> = {
  array: "an array",
  integer: "an integer",
  object: "an object",
  null: "null",
};

function nameType(type: string): string {
  return TYPES[type] ?? `a ${type}`;
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

function join(words: readonly string[], conjunction: "and" | "or"): string {
  const shown = words.slice(0, WORDS_MAX).map((word) => shorten(word));
  if (words.length > WORDS_MAX) shown.push(`${words.length - WORDS_MAX} others`);
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} ${conjunction} ${shown.at(-1)}`;
}
