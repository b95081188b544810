// From the text that a model wrote as a call's arguments to valid arguments, or to its faults.
import { Kind, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Compute, ComputeTurn } from "../../compute/index.ts";
import { ARGUMENTS, UNCOMPUTED } from "./compute-tasks.ts";
import { findJsonProblem } from "./json-schema/check.ts";
import type { Parameters } from "./json-schema/parameters.ts";

const TEXT_BYTES_MAX = 256 * 1024;
const DEPTH_MAX = 64;
/** Objects and lists: each costs a hundred times as much as a character, wherever it goes. */
const PARTS_MAX = 20_000;
/** The model is told so many; more would only repeat one mistake. */
const FAULTS_MAX = 5;
const FAULT_CHARACTERS_MAX = 300;
const INTEGER_CHARACTERS_SHOWN = 40;
const NUMBER_CHARACTERS = "0123456789+-.eE";
/** So many digits are always exact. */
const DIGITS_EXACT = 15;

export type CheckedArguments =
  | { ok: true; value: Record<string, unknown> }
  /** Sentences for the model, at most five. */
  | { ok: false; faults: string[] };

/** Judges a call's arguments by the tool's parameters, of whichever kind it is. */
export type CheckArguments = (
  parameters: TSchema | Parameters,
  text: string,
  turn: ComputeTurn,
) => Promise<CheckedArguments>;

/** A caller's schema may take long for a value: it judges in a Worker. */
export function createArgumentsCheck(compute: Compute): CheckArguments {
  return async (parameters, text, turn) => {
    // A symbol: no JSON that a caller sends can have it.
    if (Kind in parameters) return checkArguments(parameters as TSchema, text);
    const value = readObject(text);
    if (typeof value === "string") return { ok: false, faults: [value] };
    const input = { parameters, text: text.trim() || "{}", faultsMax: FAULTS_MAX };
    const computed = await compute.run(ARGUMENTS, input, turn);
    if (computed.ok) return tell(value, computed.value);
    const { why } = computed;
    return { ok: false, faults: [`The arguments: Judging them ${UNCOMPUTED[why]}.`] };
  };
}

/** By a built-in tool's parameters, which are our own and take no time. */
export function checkArguments(parameters: TSchema, text: string): CheckedArguments {
  const value = readObject(text);
  if (typeof value === "string") return { ok: false, faults: [value] };
  const faults: string[] = [];
  for (const { path, message } of Value.Errors(parameters, value)) {
    faults.push(`${path === "" ? "The arguments" : path}: ${message}`);
    if (faults.length === FAULTS_MAX) break;
  }
  return tell(value, faults);
}

function tell(value: Record<string, unknown>, faults: readonly string[]): CheckedArguments {
  if (faults.length === 0) return { ok: true, value };
  return {
    ok: false,
    faults: faults.map((fault) => fault.slice(0, FAULT_CHARACTERS_MAX).toWellFormed()),
  };
}

/** The object that a text holds; a sentence: what is wrong with the text. */
function readObject(text: string): Record<string, unknown> | string {
  // A call without arguments: many servers send nothing for it.
  if (text.trim() === "") return {};
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    return `The arguments are longer than ${TEXT_BYTES_MAX} bytes.`;
  }
  const fault = findFaultInText(text);
  if (fault !== null) return fault;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "The arguments are no valid JSON.";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "The arguments must be a JSON object.";
  }
  const problem = findJsonProblem(value, { depthMax: DEPTH_MAX, partsMax: PARTS_MAX });
  if (problem !== null) return `The arguments ${problem}.`;
  return value as Record<string, unknown>;
}

/**
 * What parsing would not survive or not show: brackets outside strings that nest too deep, and
 * integers that a number of JavaScript would round.
 */
function findFaultInText(text: string): string | null {
  let depth = 0;
  let is_quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (is_quoted) {
      if (character === "\\") at++;
      else if (character === '"') is_quoted = false;
    } else if (character === '"') is_quoted = true;
    else if (character === "{" || character === "[") {
      if (++depth > DEPTH_MAX) return `The arguments are nested deeper than ${DEPTH_MAX}.`;
    } else if (character === "}" || character === "]") depth--;
    else if (character >= "0" && character <= "9") {
      const number = readNumber(text, at);
      if (isRounded(number)) return refuseInteger(number);
      at += number.length - 1;
    }
  }
  return null;
}

function readNumber(text: string, start: number): string {
  let end = start;
  while (end < text.length && NUMBER_CHARACTERS.includes(text[end]!)) end++;
  return text.slice(start, end);
}

/** With an exponent it is meant as a rounded number. */
function isRounded(number: string): boolean {
  if (number.length <= DIGITS_EXACT || /e/i.test(number)) return false;
  return Number.parseFloat(number) > Number.MAX_SAFE_INTEGER;
}

function refuseInteger(number: string): string {
  const shown = number.slice(0, INTEGER_CHARACTERS_SHOWN);
  const says = `The arguments hold an integer beyond ${Number.MAX_SAFE_INTEGER}`;
  return `${says}, which would be rounded: ${shown}. Write it as a string.`;
}
