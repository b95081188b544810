// Bounds JSON values of others, and checks callers' schemas in a compute Worker.
import type { Compute } from "../../../compute/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { SCHEMA, UNCOMPUTED } from "../compute-tasks.ts";
import type { Parameters } from "./parameters.ts";

const SCHEMA_BYTES_MAX = 32 * 1024;
/** Bounds of a schema; each part that can be a schema takes some ten microseconds to compile. */
const SCHEMA_BOUNDS: JsonBounds = { depthMax: 16, partsMax: 500 };
const BUSY_RETRY_S = "1";

/** Says what is wrong with the schema in a field of that name; null: nothing. */
export type CheckSchema = (
  schema: Parameters,
  account: string,
  field?: string,
) => Promise<string | null>;

export function createSchemaCheck(compute: Compute): CheckSchema {
  return async (schema, account, field = "parameters") => {
    const problem = findJsonProblem(schema, SCHEMA_BOUNDS);
    if (problem !== null) return `\`${field}\` ${problem}.`;
    if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) {
      return `\`${field}\` must be at most ${SCHEMA_BYTES_MAX} bytes of JSON.`;
    }
    const computed = await compute.run(SCHEMA, schema, { account });
    // The place inside the schema may follow the name.
    if (computed.ok) return computed.value?.replaceAll("`parameters", `\`${field}`) ?? null;
    const message = `Checking \`${field}\` ${UNCOMPUTED[computed.reason]}.`;
    if (computed.reason === "timeout") return message;
    if (computed.reason === "failed") throw new Error(message);
    const headers = { "retry-after": BUSY_RETRY_S };
    throw apiError("service_unavailable", { message, headers });
  };
}

export interface JsonBounds {
  /** Maximum depth of objects and lists; the value itself is the first. */
  depthMax: number;
  /** Maximum number of objects, lists and booleans: each can be a schema. */
  partsMax: number;
}

/**
 * Finds what makes a value of JSON.parse unsafe to compare, store or send, as the end of a
 * sentence. RFC 8785, by which hashes are taken, knows finite numbers and well-formed texts only.
 */
export function findJsonProblem(value: unknown, bounds: JsonBounds): string | null {
  return inspect(value, 1, { ...bounds, parts: 0 });
}

type InspectionState = JsonBounds & { parts: number };

function inspect(value: unknown, depth: number, state: InspectionState): string | null {
  if (typeof value === "string") return inspectText(value);
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : "must hold no number beyond 1.8e308";
  }
  if (value === null) return null;
  if (++state.parts > state.partsMax) {
    return `must hold at most ${state.partsMax} objects and lists`;
  }
  if (typeof value !== "object") return null;
  // Checked before descending, so that no nesting exhausts the stack.
  if (depth > state.depthMax) return `must not be nested deeper than ${state.depthMax}`;
  // Object.values of a list takes ten times as long as the list itself.
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const problem = inspect(inner, depth + 1, state);
    if (problem !== null) return problem;
  }
  if (Array.isArray(value)) return null;
  for (const name of Object.keys(value)) {
    const problem = inspectText(name);
    if (problem !== null) return problem;
  }
  return null;
}

function inspectText(text: string): string | null {
  return text.isWellFormed() ? null : "must hold no half of a character (a lone surrogate)";
}
