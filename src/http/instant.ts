// Instants as callers write them, in a query or a body.
import { type TString, Type } from "@sinclair/typebox";
import { readInstant } from "../platform/calendar.ts";
import { apiError } from "../platform/errors.ts";

const CHARACTERS_MAX = 40;
const EXAMPLE = "2026-11-20T17:42:00.000Z";

/** As a schema has it: whether it is one `requireInstant` says. */
export function Instant(description: string): TString {
  return Type.String({
    description: `${description} ISO 8601, such as ${EXAMPLE}.`,
    maxLength: CHARACTERS_MAX,
    examples: [EXAMPLE],
  });
}

/** Milliseconds since 1970. */
export function requireInstant(param: string, text: string): number {
  const time_ms = readInstant(text);
  if (time_ms !== null) return time_ms;
  const message = `\`${param}\` must be an instant such as ${EXAMPLE}.`;
  // agents.errors.invalid_request
  throw apiError("invalid_request", { param, message });
}
