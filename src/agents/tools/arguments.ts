// Reads a call's arguments as a model wrote them, and checks them by the tool's parameters.
import { Kind, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Compute, ComputeOptions } from "../../compute/index.ts";
import { ARGUMENTS, UNCOMPUTED } from "./compute-tasks.ts";
import { findJsonProblem } from "./json-schema/check.ts";
import type { Parameters } from "./json-schema/parameters.ts";

const ARGUMENTS_CALLED = "The arguments";
const TEXT_BYTES_MAX = 256 * 1024;
const DEPTH_MAX = 64;
/** Maximum objects and lists; each costs a hundred times as much as a character. */
const PARTS_MAX = 20_000;
/** Maximum faults for the model; more would only repeat one mistake. */
const FAULTS_MAX = 5;
const FAULT_CHARACTERS_MAX = 300;
const QUOTED_DIGITS_MAX = 40;
const NUMBER = /[\d+\-.eE]+/y;
/** Numbers this short are always exact. */
const EXACT_CHARACTERS_MAX = 15;

export type CheckedArguments =
  | { ok: true; value: Record<string, unknown> }
  | { ok: false; faults: string[] };

export type CheckArguments = (
  parameters: TSchema | Parameters,
  text: string,
  options: ComputeOptions,
) => Promise<CheckedArguments>;

/**
 * Checks by callers' schemas in a Worker, since they may take long for a value. Faults begin with
 * what the value is `called`.
 */
export function createArgumentsCheck(compute: Compute, called = ARGUMENTS_CALLED): CheckArguments {
  return async (parameters, text, options) => {
    // `Kind` is a symbol, which no JSON of a caller has.
    if (Kind in parameters) return checkArguments(parameters as TSchema, text);
    const value = readObject(text, called);
    if (typeof value === "string") return { ok: false, faults: [value] };
    const input = { parameters, text: text.trim() || "{}", faultsMax: FAULTS_MAX, root: called };
    const computed = await compute.run(ARGUMENTS, input, options);
    if (computed.ok) return toChecked(value, computed.value);
    const fault = `${called}: Checking them ${UNCOMPUTED[computed.reason]}.`;
    return { ok: false, faults: [fault] };
  };
}

/** Checks by a built-in tool's parameters, which take no time. */
export function checkArguments(parameters: TSchema, text: string): CheckedArguments {
  const value = readObject(text, ARGUMENTS_CALLED);
  if (typeof value === "string") return { ok: false, faults: [value] };
  const faults: string[] = [];
  for (const { path, message } of Value.Errors(parameters, value)) {
    faults.push(`${path === "" ? ARGUMENTS_CALLED : path}: ${message}`);
    if (faults.length === FAULTS_MAX) break;
  }
  return toChecked(value, faults);
}

function toChecked(value: Record<string, unknown>, faults: readonly string[]): CheckedArguments {
  if (faults.length === 0) return { ok: true, value };
  const shortened = faults.map((fault) => fault.slice(0, FAULT_CHARACTERS_MAX).toWellFormed());
  return { ok: false, faults: shortened };
}

function readObject(text: string, called: string): Record<string, unknown> | string {
  // Many model servers send nothing for a call without arguments.
  if (text.trim() === "") return {};
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    return `${called} are longer than ${TEXT_BYTES_MAX} bytes.`;
  }
  const textProblem = findTextProblem(text, called);
  if (textProblem !== null) return textProblem;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `${called} are no valid JSON.`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return `${called} must be a JSON object.`;
  }
  const problem = findJsonProblem(value, { depthMax: DEPTH_MAX, partsMax: PARTS_MAX });
  return problem === null ? (value as Record<string, unknown>) : `${called} ${problem}.`;
}

/** Finds nesting that parsing would not survive, and integers that it would round. */
function findTextProblem(text: string, called: string): string | null {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (isQuoted) {
      if (character === "\\") at++;
      else if (character === '"') isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === "{" || character === "[") {
      if (++depth > DEPTH_MAX) return `${called} are nested deeper than ${DEPTH_MAX}.`;
    } else if (character === "}" || character === "]") depth--;
    else if (character >= "0" && character <= "9") {
      NUMBER.lastIndex = at;
      const [number] = NUMBER.exec(text)!;
      if (isRounded(number)) return describeRounded(number, called);
      at += number.length - 1;
    }
  }
  return null;
}

/** A number with an exponent is meant as a rounded one. */
function isRounded(number: string): boolean {
  if (number.length <= EXACT_CHARACTERS_MAX || /e/i.test(number)) return false;
  return Number.parseFloat(number) > Number.MAX_SAFE_INTEGER;
}

function describeRounded(number: string, called: string): string {
  const quoted = number.slice(0, QUOTED_DIGITS_MAX);
  const problem = `${called} hold an integer beyond ${Number.MAX_SAFE_INTEGER}`;
  return `${problem}, which would be rounded: ${quoted}. Write it as a string.`;
}
