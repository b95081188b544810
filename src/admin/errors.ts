// Errors of operators' requests: a sentence that says what is wrong and what to do.
import { ApiError } from "../platform/errors.ts";
import { findNearest } from "../settings/index.ts";

export class AdminError extends Error {}

/** An unknown name, with the nearest known one, or with `advice`. */
export function refuseUnknown(
  what: string,
  name: string,
  known: readonly string[],
  advice: string,
): AdminError {
  const nearest = findNearest(name, known);
  const hint = nearest === undefined ? `: ${advice}` : `; did you mean "${nearest}"?`;
  return new AdminError(`there is no ${what} "${name}"${hint}`);
}

/** Turns an API error into one for the operator. */
export async function explainRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    if (failure instanceof ApiError) throw new AdminError(failure.message);
    throw failure;
  }
}

/** A model that the settings don't name. */
export function refuseUnknownModel(id: string, known: readonly string[]): AdminError {
  return refuseUnknown("model", id, known, `the settings name ${known.join(", ")}`);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The stored form of a typed id. `what` is "key's id"; `command` lists the ids. */
export function readId(typed: string, what: string, command: string): string {
  if (UUID.test(typed)) return typed.toLowerCase();
  // Never echo it: it may be a secret typed in the wrong place.
  throw new AdminError(`that is no ${what}: \`${command}\` shows them`);
}
