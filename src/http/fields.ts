// Fields that many requests have: UUIDs, which handlers get in lower case, and instants.
import { type TSchema, type TString, Type } from "@sinclair/typebox";
import { readInstant } from "../platform/calendar.ts";
import { apiError } from "../platform/errors.ts";
import { compileCheck, named } from "./validation.ts";

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

/** Compiles a check that throws as `compileCheck` does, and lower-cases the UUIDs of the value. */
export function compileFields(schema: TSchema): (value: unknown) => Record<string, unknown> {
  const check = compileCheck(schema);
  const declared = Object.entries((schema.properties ?? {}) as Record<string, TSchema>);
  const uuids = declared.flatMap(([name, field]) => (isUuid(field) ? [name] : []));
  return (value) => {
    const fields = check(value) as Record<string, unknown>;
    for (const name of uuids) {
      const id = fields[name];
      if (typeof id === "string") fields[name] = id.toLowerCase();
    }
    return fields;
  };
}

function isUuid(schema: TSchema): boolean {
  return IS_UUID in schema || Boolean(schema.anyOf?.some(isUuid));
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
