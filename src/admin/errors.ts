// Errors of operators' requests: a sentence that says what is wrong and what to do.
import type { ObjectKind } from "../inventory/index.ts";
import { ApiError } from "../platform/errors.ts";
import { findNearest } from "../settings/index.ts";

export type AdminErrorKind = "invalid" | "not found" | "conflict";

export class AdminError extends Error {
  readonly kind: AdminErrorKind;
  /** The sentence without what was typed, which may be a secret in the wrong place. */
  readonly recorded: string;

  constructor(message: string, kind: AdminErrorKind = "invalid", recorded = message) {
    super(message);
    this.kind = kind;
    this.recorded = recorded;
  }
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function isName(text: string): boolean {
  return NAME.test(text);
}

/** Throws for a name that does not fit a path and a line of a table. */
export function requireName(whose: string, name: string): void {
  if (isName(name)) return;
  throw new AdminError(
    `${whose} name is 1 to 64 of A-Z, a-z, 0-9 and _ . -, and begins with a letter or digit`,
  );
}

export function unknownName(
  what: string,
  name: string,
  known: readonly string[],
  advice: string,
): AdminError {
  const nearest = findNearest(name, known);
  const hint = nearest === undefined ? `: ${advice}` : `; did you mean "${nearest}"?`;
  const message = `there is no ${what} "${name}"${hint}`;
  return new AdminError(message, "not found", `there is no ${what} of that name`);
}

export function unknownModel(id: string, known: readonly string[]): AdminError {
  return unknownName("model", id, known, `the settings name ${known.join(", ")}`);
}

export async function explainApiError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new AdminError(error.message, kindOf(error), error.details.recorded);
  }
}

function kindOf({ status }: ApiError): AdminErrorKind {
  return status === 404 ? "not found" : status === 409 ? "conflict" : "invalid";
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Commands that list the ids of each kind. */
export const LISTS: Readonly<Record<ObjectKind, string>> = {
  agent: "wadi agents list",
  run: "wadi runs list",
  approval: "wadi approvals list",
  key: "wadi keys list",
  connection: "wadi connections list",
  trigger: "wadi triggers list",
  endpoint: "wadi webhooks list",
  session: "wadi operators sessions",
  delivery: "wadi webhooks deliveries ID",
  server: "wadi tools servers",
};

export function isId(text: string): boolean {
  return UUID.test(text);
}

/** Finds by a whole id. */
export async function requireById<T>(
  kind: ObjectKind,
  typed: string,
  find: (id: string) => Promise<T | undefined>,
): Promise<T> {
  // Never echo it: it may be a secret typed in the wrong place.
  if (!isId(typed)) throw new AdminError(`that is no ${kind}'s id: \`${LISTS[kind]}\` shows them`);
  const id = typed.toLowerCase();
  return (await find(id)) ?? unknownId(kind, id);
}

export function unknownId(kind: ObjectKind, id: string): never {
  throw new AdminError(`there is no ${kind} "${id}": see \`${LISTS[kind]}\``, "not found");
}
