// Checks callers' JSON Schemas, and values by them: 2020-12 by a library that only interprets.
import { SizeCache } from "../../../platform/size-cache.ts";
import { writeFaults } from "./fault-text.ts";
import { OWN_KEYWORDS } from "./keywords.ts";
import {
  addKeyword,
  buildSchemaDocument,
  type CompiledSchema,
  compile,
  defineVocabulary,
  fromJs,
  get,
  getKeywordId,
  getSchema,
  interpret,
  loadDialect,
  removeUriSchemePlugin,
  type SchemaDocument,
  setShouldValidateSchema,
} from "./library.ts";
import { Meter, TooMuchWork } from "./meter.ts";
import { copySchema, DIALECT, HOME, KEYWORDS } from "./schema-copy.ts";
import { SchemaError, writeSentence } from "./schema-error.ts";

/** Maximum faults shown: the first may only say that no alternative fits. */
const META_FAULTS_MAX = 2;
/** Characters of the schemas whose validators are cached; a validator takes 30 times the memory. */
const CACHED_CHARACTERS_MAX = 500_000;

// References of a schema fetch nothing and read no file.
for (const scheme of ["http", "https", "file"]) removeUriSchemePlugin(scheme);
// Schemas are checked by the meta-schema when they come in.
setShouldValidateSchema(false);

const OWN_DIALECT = "urn:wadi:parameters";
for (const keyword of OWN_KEYWORDS.values()) addKeyword(keyword);
defineVocabulary(
  OWN_DIALECT,
  Object.fromEntries(
    KEYWORDS.map((name) => [name, OWN_KEYWORDS.get(name)?.id ?? getKeywordId(name, DIALECT)]),
  ),
);
loadDialect(OWN_DIALECT, { [OWN_DIALECT]: true });

export type Parameters = Readonly<Record<string, unknown>>;

export async function findSchemaProblem(parameters: Parameters): Promise<string | null> {
  if (!Object.hasOwn(parameters, "type") || parameters.type !== "object") {
    return '`parameters` must have the `type` "object".';
  }
  meta ??= getSchema(DIALECT)
    .then(compile)
    .then((compiled) => new Validator(compiled));
  const faults = (await meta).findFaults(parameters, "The schema", META_FAULTS_MAX);
  if (faults.length > 0) {
    const problem = `must be valid by JSON Schema 2020-12: ${faults.join(" ")}`;
    return writeSentence(`\`parameters\` ${problem}`);
  }
  const validator = await openValidator(parameters);
  if (typeof validator === "string") return validator;
  if (!validator.exceedsWork({})) return null;
  const cause = "they lead back to themselves, or double at each reference";
  return `\`parameters\` take too much work for any arguments: ${cause}.`;
}

export async function findFaults(
  parameters: Parameters,
  value: unknown,
  faultsMax: number,
  root = "The arguments",
): Promise<string[]> {
  const validator = await openValidator(parameters);
  // A schema that was taken by an earlier version may be refused by this one.
  if (typeof validator === "string") return [validator];
  return validator.findFaults(value, root, faultsMax);
}

let meta: Promise<Validator> | undefined;

const validators = new SizeCache<Validator>(CACHED_CHARACTERS_MAX);

async function openValidator(parameters: Parameters): Promise<Validator | string> {
  const text = JSON.stringify(parameters);
  try {
    const cached = validators.get(text);
    if (cached) return cached;
    const validator = await compileValidator(parameters);
    validators.set(text, validator, text.length);
    return validator;
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof SchemaError) return message;
    return writeSentence(`\`parameters\` cannot be read as a JSON Schema (${message})`);
  }
}

async function compileValidator(parameters: Parameters): Promise<Validator> {
  const document = buildSchemaDocument(copySchema(parameters) as never, HOME, OWN_DIALECT);
  const cache = { _cache: { [document.baseUri]: document } };
  const schema = await get<SchemaDocument>(document.baseUri, cache as never);
  return new Validator(await compile(schema));
}

class Validator {
  readonly #compiled: CompiledSchema;
  readonly #meter = new Meter();

  constructor(compiled: CompiledSchema) {
    this.#compiled = compiled;
    // The validator ignores other plug-ins where it evaluates a condition again.
    compiled.ast.plugins.add(this.#meter);
  }

  /** Sentences on a value of JSON.parse, which `root` names as a whole. */
  findFaults(value: unknown, root: string, faultsMax: number): string[] {
    const faults = this.#check(value, root, faultsMax);
    return faults ?? [`${root}: Checking them takes too much work.`];
  }

  exceedsWork(value: unknown): boolean {
    return this.#check(value, "", 1) === undefined;
  }

  #check(value: unknown, root: string, faultsMax: number): string[] | undefined {
    try {
      if (interpret(this.#compiled, fromJs(value as never)).valid) return [];
      const faults = new Set<string>();
      for (const fault of writeFaults(this.#meter.faults, root)) {
        faults.add(fault);
        if (faults.size === faultsMax) break;
      }
      return faults.size > 0 ? [...faults] : [`${root}: must fit the schema.`];
    } catch (error) {
      if (error instanceof TooMuchWork) return undefined;
      throw error;
    } finally {
      // A cached validator would keep the value.
      this.#meter.reset();
    }
  }
}
