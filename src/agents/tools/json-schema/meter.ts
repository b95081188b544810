// Counts the work of a check, so that no schema takes for ever, and gathers what it finds wrong.
import type { EvaluationPlugin, ValidationContext } from "@hyperjump/json-schema/experimental";
import type { JsonNode } from "@hyperjump/json-schema/instance/experimental";
import { nameOf, weigh, weighPatterns } from "./work.ts";

/** Schemas inside one another, or behind one another's references, at one moment of a check. */
const DEPTH_MAX = 2_000;
/**
 * Characters that patterns may look at in a check, each as often as the automaton has parts. An
 * automaton that has to follow all of them at once takes 20 nanoseconds for each.
 */
const PATTERN_PARTS_MAX = 8_000_000;
/** Of the faults inside one keyword so many are kept: fewer are told. */
const FAULTS_KEPT_MAX = 20;

/** What a keyword found wrong at a place of the value. */
export interface Fault {
  /** `false`: the schema that nothing fits. */
  keyword: string;
  /** What the keyword asks for, as it was compiled. */
  asked: unknown;
  node: JsonNode;
  /** What the schemas inside the keyword found wrong, each for itself. */
  inner: Fault[][];
}

/** Thrown out of a check that takes more steps than it may. */
export class TooMuchWork extends Error {}

/** A plug-in of the validator for one check after another: none of them waits. */
export interface Meter extends EvaluationPlugin {
  /** Begins a check that may take so many steps; a step is about a tenth of a microsecond. */
  begin(steps_max: number): void;
  /** What the check found wrong. */
  readonly faults: Fault[];
}

type Context = ValidationContext & {
  /** Faults of the schemas that were judged for this keyword, and of the one under way. */
  inner?: Fault[][];
  current?: Fault[] | undefined;
  schemaEvaluatedProperties?: Set<string>;
  schemaEvaluatedItems?: Set<number>;
};

export function createMeter(): Meter {
  let stepsLeft = 0;
  let partsLeft = 0;
  let depth = 0;
  let last: Context | undefined;
  const spend = (steps: number) => {
    stepsLeft -= steps;
    if (stepsLeft < 0) throw new TooMuchWork();
  };
  const add = (context: Context, fault: Fault) => {
    context.inner ??= [];
    if (!context.current) {
      if (context.inner.length === FAULTS_KEPT_MAX) return;
      context.current = [];
      context.inner.push(context.current);
    }
    if (context.current.length < FAULTS_KEPT_MAX) context.current.push(fault);
  };
  return {
    id: "urn:wadi:meter",
    begin(steps_max) {
      stepsLeft = steps_max;
      partsLeft = PATTERN_PARTS_MAX;
      depth = 0;
      last = undefined;
    },
    get faults() {
      return last?.inner?.flat() ?? [];
    },
    beforeSchema(_url, _node, context: Context) {
      spend(2);
      if (++depth > DEPTH_MAX) throw new TooMuchWork();
      context.current = undefined;
    },
    beforeKeyword([id, , asked], node) {
      spend(weigh(id, asked, node));
      partsLeft -= weighPatterns(id, asked, node);
      if (partsLeft < 0) throw new TooMuchWork();
    },
    afterKeyword([id, , asked], node, context: Context, isValid, outer: Context) {
      if (isValid) return;
      add(outer, { keyword: nameOf(id), asked, node, inner: context.inner ?? [] });
    },
    afterSchema(url, node, context: Context, isValid) {
      depth--;
      // The library copies these names and numbers from each schema to the one around it.
      spend(context.schemaEvaluatedProperties?.size ?? 0);
      spend(context.schemaEvaluatedItems?.size ?? 0);
      if (!isValid && context.ast[url] === false) {
        add(context, { keyword: "false", asked: false, node, inner: [] });
      }
      last = context;
    },
  };
}
