// The validator of callers' schemas: JSON Schema 2020-12 by a library that only interprets.
import { get, removeUriSchemePlugin } from "@hyperjump/browser";
import { setShouldValidateSchema } from "@hyperjump/json-schema/draft-2020-12";
import {
  addKeyword,
  buildSchemaDocument,
  type CompiledSchema,
  compile,
  defineVocabulary,
  getKeywordId,
  getSchema,
  interpret,
  loadDialect,
  type SchemaDocument,
} from "@hyperjump/json-schema/experimental";
import { fromJs } from "@hyperjump/json-schema/instance/experimental";
import { OWN_KEYWORDS } from "./keywords.ts";
import { createMeter, type Fault, TooMuchWork } from "./meter.ts";
import { DIALECT, KEYWORDS } from "./reading.ts";
import { HOME } from "./references.ts";
import { tellFaults } from "./words.ts";

// Whatever stands in a schema, nothing is fetched and no file is read for it.
for (const scheme of ["http", "https", "file"]) removeUriSchemePlugin(scheme);
// We judge by the meta-schema ourselves, where a schema comes in.
setShouldValidateSchema(false);

/** 2020-12 with the keywords that are our own. */
const OWN_DIALECT = "urn:wadi:parameters";
for (const keyword of OWN_KEYWORDS.values()) addKeyword(keyword);
defineVocabulary(
  OWN_DIALECT,
  Object.fromEntries(
    KEYWORDS.map((name) => [name, OWN_KEYWORDS.get(name)?.id ?? getKeywordId(name, DIALECT)]),
  ),
);
loadDialect(OWN_DIALECT, { [OWN_DIALECT]: true });

/** A schema by which values can be judged. */
export interface Judge {
  /** What is wrong with a value of JSON.parse, each fault a sentence with its place. */
  findFaults(value: unknown, limits: Limits): string[];
}

export interface Limits {
  /** What the value as a whole is called. */
  whole: string;
  /** A step is about a tenth of a microsecond. */
  steps_max: number;
  faults_max: number;
}

/** Throws SchemaFault, or what the library throws. */
export async function compileJudge(schema: Record<string, unknown>): Promise<Judge> {
  const document = buildSchemaDocument(schema as never, HOME, OWN_DIALECT);
  const cache = { _cache: { [document.baseUri]: document } };
  return createJudge(await compile(await get<SchemaDocument>(document.baseUri, cache as never)));
}

/** The meta-schema: it judges schemas. */
export async function compileMeta(): Promise<Judge> {
  return createJudge(await compile(await getSchema(DIALECT)));
}

function createJudge(compiled: CompiledSchema): Judge {
  const meter = createMeter();
  // In the schema's own plug-ins: the library leaves out others where it judges a condition again.
  compiled.ast.plugins.add(meter);
  return {
    findFaults(value, { whole, steps_max, faults_max }) {
      meter.begin(steps_max);
      try {
        if (interpret(compiled, fromJs(value as never)).valid) return [];
        return tellSome(meter.faults, whole, faults_max);
      } catch (error) {
        if (error instanceof TooMuchWork) return [`${whole}: Judging them takes too much work.`];
        throw error;
      } finally {
        // The judge may be kept for long, and the value with it.
        meter.begin(0);
      }
    },
  };
}

function tellSome(found: readonly Fault[], whole: string, faults_max: number): string[] {
  const faults = new Set<string>();
  for (const fault of tellFaults(found, whole)) {
    faults.add(fault);
    if (faults.size === faults_max) break;
  }
  // Nothing told would mean that the value is valid.
  return faults.size > 0 ? [...faults] : [`${whole}: must fit the schema.`];
}
