// The JSON Schemas of callers' tools: which are taken, and what is wrong with a value by them.

import { standInLine } from "../turns.ts";
import type { Judge } from "./dialect.ts";
import { SchemaFault, writeSentence } from "./fault.ts";
import { readSchema } from "./reading.ts";
import { findHarm } from "./soundness.ts";

const TEXT_BYTES_MAX = 32 * 1024;
const DEPTH_MAX = 16;
/** Whatever can be a schema costs some ten microseconds until it is compiled. */
const PARTS_MAX = 500;
/** The work of a check, in steps of about a tenth of a microsecond: more for a longer value. */
const STEPS_MIN = 100_000;
const STEPS_A_BYTE = 6;
/** Two say where and what: the first may be that no alternative fits. */
const META_FAULTS_MAX = 2;
/** So many compiled schemas are kept, beside those whose parameters somebody holds. */
const KEPT_MAX = 200;

/** A caller's JSON Schema, as it came in or was stored. */
export type Parameters = Readonly<Record<string, unknown>>;

/**
 * What is wrong with the parameters of a tool that a caller registers, as a sentence for the
 * caller; null: nothing, and they are ready for `findFaults`.
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
  return (await judgeByMeta(parameters)) ?? (await prepareParameters(parameters));
}

function judgeSize(value: object): string | null {
  const harm = findHarm(value, { depth_max: DEPTH_MAX, parts_max: PARTS_MAX });
  if (harm !== null) return harm;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > TEXT_BYTES_MAX ? `must be at most ${TEXT_BYTES_MAX} bytes of JSON` : null;
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

/** By the schema's text, in the order of their last preparing: many runs prepare the same. */
const kept = new Map<string, Judge>();
const judges = new WeakMap<Parameters, Judge>();

/**
 * Makes parameters ready for `findFaults`, which then need not wait. A sentence: what is wrong
 * with them; null: they are ready for as long as the object lives.
 */
export async function prepareParameters(parameters: Parameters): Promise<string | null> {
  if (judges.has(parameters)) return null;
  const text = JSON.stringify(parameters);
  try {
    const judge = kept.get(text) ?? (await compileParameters(parameters));
    judges.set(parameters, judge);
    keep(text, judge);
    return null;
  } catch (error) {
    if (error instanceof SchemaFault) return error.message;
    // Whatever the validator cannot take, it is the schema that has it.
    const { message } = error as Error;
    return writeSentence(`\`parameters\` cannot be read as a JSON Schema (${message})`);
  }
}

async function compileParameters(parameters: Parameters): Promise<Judge> {
  // Some ten milliseconds: a version may have a hundred tools.
  await standInLine();
  const schema = readSchema(parameters);
  const { compileJudge } = await loadValidator();
  return compileJudge(schema);
}

function keep(text: string, judge: Judge): void {
  kept.delete(text);
  kept.set(text, judge);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_MAX) return;
    kept.delete(oldest);
  }
}

/**
 * What is wrong with arguments by prepared parameters, as sentences for a model, at most
 * `faults_max`; none: they are valid. `bytes`: how long their text is.
 */
export function findFaults(
  parameters: Parameters,
  value: unknown,
  { bytes, faults_max }: { bytes: number; faults_max: number },
): string[] {
  const judge = judges.get(parameters);
  if (!judge) throw new Error("parameters have to be prepared before arguments are judged by them");
  return judge.findFaults(value, {
    whole: "The arguments",
    steps_max: allowSteps(bytes),
    faults_max,
  });
}

function allowSteps(bytes: number): number {
  return STEPS_MIN + STEPS_A_BYTE * bytes;
}
