// From the text that a model wrote as a call's arguments to valid arguments, or to its faults.
import { Kind, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { findFaults, type Parameters } from "./schema/parameters.ts";
import { findHarm } from "./schema/soundness.ts";

const TEXT_BYTES_MAX = 256 * 1024;
const DEPTH_MAX = 64;
/** The model is told so many; more would only repeat one mistake. */
const FAULTS_MAX = 5;
const FAULT_CHARACTERS_MAX = 300;

export type CheckedArguments =
  | { ok: true; value: Record<string, unknown> }
  /** Sentences for the model, at most five. */
  | { ok: false; faults: string[] };

/**
 * Judges a call's arguments by the tool's parameters: by those of a built-in tool, which are our
 * own schemas, or by a caller's, which have to be prepared (`prepareParameters`). Neither compiles
 * code: what a schema says is looked up while a value is walked.
 */
export function checkArguments(parameters: TSchema | Parameters, text: string): CheckedArguments {
  const read = readObject(text);
  if (typeof read === "string") return { ok: false, faults: [read] };
  const faults = judge(parameters, read, text);
  if (faults.length === 0) return { ok: true, value: read };
  return {
    ok: false,
    faults: faults.map((fault) => fault.slice(0, FAULT_CHARACTERS_MAX).toWellFormed()),
  };
}

function judge(parameters: TSchema | Parameters, read: object, text: string): string[] {
  // A symbol: no JSON that a caller sends can have it.
  if (!(Kind in parameters)) {
    return findFaults(parameters, read, { bytes: text.length, faults_max: FAULTS_MAX });
  }
  const faults: string[] = [];
  for (const { path, message } of Value.Errors(parameters as TSchema, read)) {
    faults.push(`${path === "" ? "The arguments" : path}: ${message}`);
    if (faults.length === FAULTS_MAX) break;
  }
  return faults;
}

/** The object that a text holds; a sentence: what is wrong with the text. */
function readObject(text: string): Record<string, unknown> | string {
  // A call without arguments: many servers send nothing for it.
  if (text.trim() === "") return {};
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    return `The arguments are longer than ${TEXT_BYTES_MAX} bytes.`;
  }
  if (isDeeperThan(text, DEPTH_MAX)) return `The arguments are nested deeper than ${DEPTH_MAX}.`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "The arguments are no valid JSON.";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "The arguments must be a JSON object.";
  }
  const harm = findHarm(value, { depth_max: DEPTH_MAX, parts_max: Number.POSITIVE_INFINITY });
  if (harm !== null) return `The arguments ${harm}.`;
  return value as Record<string, unknown>;
}

/** Counts brackets outside strings, so that what nests too deep is never parsed. */
function isDeeperThan(text: string, depth_max: number): boolean {
  let depth = 0;
  let is_quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (is_quoted) {
      if (character === "\\") at++;
      else if (character === '"') is_quoted = false;
    } else if (character === '"') is_quoted = true;
    else if (character === "{" || character === "[") {
      if (++depth > depth_max) return true;
    } else if (character === "}" || character === "]") depth--;
  }
  return false;
}
