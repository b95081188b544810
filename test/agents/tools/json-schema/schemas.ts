// Makes callers' schemas for tests, and judges values by them.
import {
  findFaults,
  type Parameters,
} from "../../../../src/agents/tools/json-schema/parameters.ts";

export const fill = <T>(length: number, make: (n: number) => T): T[] =>
  Array.from({ length }, (_, n) => make(n));

/** A chain of definitions, each made of the next, behind `$ref`. */
export const chain = (length: number, link: (next: string) => object, end: object = {}) => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries([
    ...fill(length, (n) => [`d${n}`, link(`#/$defs/d${n + 1}`)]),
    [`d${length}`, end],
  ]),
});

/** What is wrong with a value. */
export async function findIn(schema: object, value: unknown): Promise<string[]> {
  const parameters = schema as Parameters;
  return findFaults(parameters, value, { bytes: JSON.stringify(value).length, faults_max: 5 });
}
