// Fields that many requests have: UUIDs, which handlers get in lower case, and instants.
import { type TSchema, type TString, Type } from "@sinclair/typebox";
import { readInstant } from "../platform/calendar.ts";
import { apiError } from "../platform/errors.ts";
import { named } from "./validation.ts";

const PATTERN = "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
const ID = new RegExp(PATTERN);
const IS_UUID = Symbol("uuid");

/** agents.resources.p4 */
export function Uuid(description: string): TString {
  const schema = Type.String({ pattern: PATTERN, description });
  return Object.assign(named(schema, "a UUID"), { [IS_UUID]: true });
}

/** Reads an id that no schema has checked; null if it is no UUID. */
export function readUuid(text: string): string | null {
  return ID.test(text) ? text.toLowerCase() : null;
}

/** Path parameters of one object, such as /v1/agents/:id. */
export const IdParams = Type.Object({ id: Uuid("The id of the object.") });

export function listUuids(schema: TSchema): string[] {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, TSchema>);
  return fields.flatMap(([name, field]) => (isUuid(field) ? [name] : []));
}

function isUuid(schema: TSchema): boolean {
  return IS_UUID in schema || Boolean(schema.anyOf?.some(isUuid));
}

export function lowerUuids(value: unknown, names: readonly string[]): void {
  const fields = value as Record<string, unknown>;
  for (const name of names) {
    const id = fields[name];
    if (typeof id === "string") fields[name] = id.toLowerCase();
  }
}

const CHARACTERS_MAX = 40;
const EXAMPLE = "2026-11-20T17:42:00.000Z";

/** Accepts any short text; `requireInstant` checks it. */
export function Instant(description: string): TString {
  return Type.String({
    description: `${description} ISO 8601, such as ${EXAMPLE}.`,
    maxLength: CHARACTERS_MAX,
    examples: [EXAMPLE],
  });
}

/** Reads an instant as milliseconds since 1970, or throws. */
export function requireInstant(param: string, text: string): number {
  const time_ms = readInstant(text);
  if (time_ms !== null) return time_ms;
  const message = `\`${param}\` must be an instant such as ${EXAMPLE}.`;
  // agents.errors.invalid_request
  throw apiError("invalid_request", { param, message });
}
