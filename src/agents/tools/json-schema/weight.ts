// Refuses schemas that judge one value too often or for ever, before any value is judged by them.
import { SchemaFault } from "./fault.ts";
import type { Copy } from "./references.ts";

/** How often one value may be looked at by the schemas of one place, through all references. */
const LOOKS_MAX = 2_000;
/** References and alternatives one behind the other, at one place. */
const CHAIN_MAX = 64;

interface Weight {
  looks: number;
  chain: number;
}

/**
 * Throws SchemaFault where a schema leads back to itself without going into the value. `places`:
 * every schema and its place; `leads`: where the references of each lead.
 */
export function judgeWeight(
  places: ReadonlyMap<Copy, string>,
  leads: ReadonlyMap<Copy, readonly Copy[]>,
): void {
  const weights = new Map<Copy, Weight | "under way">();
  const weigh = (schema: Copy): Weight => {
    const refuse = (says: string) => new SchemaFault(places.get(schema) ?? "", says);
    const known = weights.get(schema);
    if (known === "under way") throw refuse("leads back to itself without end");
    if (known) return known;
    weights.set(schema, "under way");
    const weight = { looks: 1, chain: 1 };
    for (const next of [...listSameValue(schema), ...(leads.get(schema) ?? [])]) {
      const { looks, chain } = weigh(next);
      weight.looks += looks;
      weight.chain = Math.max(weight.chain, chain + 1);
    }
    if (weight.looks > LOOKS_MAX) {
      throw refuse(`looks at one value more than ${LOOKS_MAX} times`);
    }
    if (weight.chain > CHAIN_MAX) {
      throw refuse(`has more than ${CHAIN_MAX} references one behind the other`);
    }
    weights.set(schema, weight);
    return weight;
  };
  for (const schema of places.keys()) weigh(schema);
}

/** The schemas inside this one that judge the same value. */
function listSameValue(schema: Copy): Copy[] {
  const { allOf, anyOf, oneOf, not, if: condition, then: yes, else: no, dependentSchemas } = schema;
  // The validator judges the condition again for each of its two sides.
  const conditions = [condition, yes, no, yes && condition, no && condition];
  const dependent = Object.values((dependentSchemas ?? {}) as Copy);
  return [allOf, anyOf, oneOf, not, conditions, dependent]
    .flat()
    .filter((one): one is Copy => typeof one === "object" && one !== null);
}
