// The JSON Schemas of callers' tools: which are taken, and what is wrong with a value by them.
import type { Judge } from "./dialect.ts";
import { SchemaFault, writeSentence } from "./fault.ts";
import { readSchema } from "./reading.ts";
import { judgeSize, TEXT_BYTES_MAX } from "./size.ts";

/** The work of a check, in steps of about a tenth of a microsecond: more for a longer value. */
const STEPS_MIN = 100_000;
const STEPS_A_BYTE = 6;
/** Two say where and what: the first may be that no alternative fits. */
const META_FAULTS_MAX = 2;
/** Of the schemas that are kept compiled, which takes some thirty times as much memory. */
const KEPT_CHARACTERS_MAX = 500_000;

/** A caller's JSON Schema, as it came in or was stored. */
export type Parameters = Readonly<Record<string, unknown>>;

/**
 * What is wrong with the parameters of a tool that a caller registers, as a sentence for the
 * caller; null: nothing.
 */
export async function judgeParameters(value: unknown): Promise<string | null> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "`parameters` must be a JSON object.";
  }
  const says = judgeSize(value);
  if (says !== null) return `\`parameters\` ${says}.`;
  const parameters = value as Parameters;
  if (!Object.hasOwn(value, "type") || parameters.type !== "object") {
    return '`parameters` must have the `type` "object".';
  }
  const fault = await judgeByMeta(parameters);
  if (fault !== null) return fault;
  const opened = await openJudge(parameters);
  return typeof opened === "string" ? opened : null;
}

let meta: Promise<Judge> | null = null;

async function judgeByMeta(parameters: Parameters): Promise<string | null> {
  meta ??= loadValidator().then(({ compileMeta }) => compileMeta());
  const faults = (await meta).findFaults(parameters, {
    whole: "The schema",
    steps_max: allowSteps(TEXT_BYTES_MAX),
    faults_max: META_FAULTS_MAX,
  });
  if (faults.length === 0) return null;
  return writeSentence(`\`parameters\` must be valid by JSON Schema 2020-12: ${faults.join(" ")}`);
}

/** Loaded where the first caller's schema comes in: it takes some milliseconds and megabytes. */
const loadValidator = () => import("./dialect.ts");

/** By the schema's text, in the order of their last use: many calls are judged by the same. */
const kept = new Map<string, Judge>();
let keptCharacters = 0;

/** A sentence: why nothing can be judged by these parameters. */
async function openJudge(parameters: Parameters): Promise<Judge | string> {
  const text = JSON.stringify(parameters);
  try {
    const judge = kept.get(text) ?? (await compileParameters(parameters));
    keep(text, judge);
    return judge;
  } catch (error) {
    if (error instanceof SchemaFault) return error.message;
    // Whatever the validator cannot take, it is the schema that has it.
    const { message } = error as Error;
    return writeSentence(`\`parameters\` cannot be read as a JSON Schema (${message})`);
  }
}

async function compileParameters(parameters: Parameters): Promise<Judge> {
  const schema = readSchema(parameters);
  const { compileJudge } = await loadValidator();
  return compileJudge(schema);
}

function keep(text: string, judge: Judge): void {
  if (kept.delete(text)) keptCharacters -= text.length;
  kept.set(text, judge);
  keptCharacters += text.length;
  for (const oldest of kept.keys()) {
    if (keptCharacters <= KEPT_CHARACTERS_MAX) return;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
}

/**
 * What is wrong with arguments by a caller's parameters, as sentences for a model, at most
 * `faults_max`; none: they are valid. `bytes`: how long their text is.
 */
export async function findFaults(
  parameters: Parameters,
  value: unknown,
  { bytes, faults_max }: { bytes: number; faults_max: number },
): Promise<string[]> {
  const judge = await openJudge(parameters);
  // They were judged when they came in; should we judge otherwise by now, no call fits them.
  if (typeof judge === "string") return [judge];
  return judge.findFaults(value, {
    whole: "The arguments",
    steps_max: allowSteps(bytes),
    faults_max,
  });
}

function allowSteps(bytes: number): number {
  return STEPS_MIN + STEPS_A_BYTE * bytes;
}
