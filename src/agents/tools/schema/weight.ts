// Refuses schemas that judge one value too often or for ever, before any value is judged by them.
import type { CompiledSchema } from "@hyperjump/json-schema/experimental";
import { SchemaFault } from "./fault.ts";
import { nameOf } from "./work.ts";

/** How often one value may be looked at by the schemas of one place, through all references. */
const LOOKS_MAX = 2_000;
/** References and alternatives one behind the other, at one place. */
const CHAIN_MAX = 64;

type Ast = CompiledSchema["ast"];

interface Weight {
  looks: number;
  chain: number;
}

/** Throws SchemaFault where a schema leads back to itself without going into the value. */
export function judgeWeight({ ast }: CompiledSchema): void {
  const weights = new Map<string, Weight | "under way">();
  const weigh = (url: string): Weight => {
    const known = weights.get(url);
    if (known === "under way") throw fault(url, "leads back to itself without end");
    if (known) return known;
    weights.set(url, "under way");
    const weight = { looks: 1, chain: 1 };
    for (const next of findSameValue(ast, url)) {
      const { looks, chain } = weigh(next);
      weight.looks += looks;
      weight.chain = Math.max(weight.chain, chain + 1);
    }
    if (weight.looks > LOOKS_MAX) {
      throw fault(url, `looks at one value more than ${LOOKS_MAX} times`);
    }
    if (weight.chain > CHAIN_MAX) {
      throw fault(url, `has more than ${CHAIN_MAX} references one behind the other`);
    }
    weights.set(url, weight);
    return weight;
  };
  for (const url of listSchemas(ast)) weigh(url);
}

function listSchemas(ast: Ast): string[] {
  return Object.keys(ast).filter((key) => key !== "metaData" && key !== "plugins");
}

/** The schemas that judge the same value as part of this one. */
function findSameValue(ast: Ast, url: string): string[] {
  const keywords = ast[url];
  if (!Array.isArray(keywords)) return [];
  return keywords.flatMap(([id, , asked]) => {
    switch (nameOf(id)) {
      case "ref":
      case "not":
      case "if":
        return [asked as string];
      case "allOf":
      case "anyOf":
      case "oneOf":
      // Each of these judges the condition again.
      case "then":
      case "else":
        return asked as string[];
      case "dependentSchemas":
        return (asked as [string, string][]).map(([, inner]) => inner);
      case "dynamicRef":
        return findDynamic(ast, asked as [string, string, string]);
      default:
        return [];
    }
  });
}

/** Wherever it may lead: which anchor holds is known only while a value is judged. */
function findDynamic(ast: Ast, [, fragment, url]: [string, string, string]): string[] {
  const anchors = Object.values(ast.metaData).map(({ dynamicAnchors }) => dynamicAnchors[fragment]);
  return [...new Set([url, ...anchors.filter((anchor) => anchor !== undefined)])];
}

function fault(url: string, says: string): SchemaFault {
  return new SchemaFault(decodeURI(url.slice(url.indexOf("#") + 1)), says);
}
