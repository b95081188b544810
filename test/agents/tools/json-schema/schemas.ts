// Builds callers' schemas for tests, and validates values by them.
import { createSchemaCheck } from "../../../../src/agents/tools/json-schema/check.ts";
import {
  findFaults,
  type Parameters,
} from "../../../../src/agents/tools/json-schema/parameters.ts";
import { inlineCompute } from "../../../support/compute.ts";

const checkSchema = createSchemaCheck(inlineCompute);

/** The fault of a schema, or null. */
export const check = (schema: object) => checkSchema(schema as Parameters, "a-1");

export const fill = <T>(length: number, make: (n: number) => T): T[] =>
  Array.from({ length }, (_, n) => make(n));

/** A chain of definitions, each a `$ref` to the next. */
export const chain = (length: number, link: (next: string) => object, end: object = {}) => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries([
    ...fill(length, (n) => [`d${n}`, link(`#/$defs/d${n + 1}`)]),
    [`d${length}`, end],
  ]),
});

/** The faults of a value. */
export const findIn = (schema: object, value: unknown) =>
  findFaults(schema as Parameters, value, 5);
