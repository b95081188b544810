// Input fields that several operations have.
import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { cleanText } from "../../database/index.ts";
import { findFieldError } from "../../http/index.ts";
import type { ObjectKind } from "../../inventory/index.ts";
import { AdminError } from "../errors.ts";

const CHARACTERS_MAX = 4_096;
const ROWS_MAX = 10_000;

export const NO_INPUT: TObject = Type.Object({}, { additionalProperties: false });

export function input<P extends TProperties>(fields: P) {
  return Type.Object(fields, { additionalProperties: false });
}

/** Throws for an input that the schema or a database refuses; drops undefined fields. */
export function checkInput<I extends TObject>(schema: I, typed: Static<I>): Static<I> {
  const given = Object.entries<unknown>(typed).filter(([, value]) => value !== undefined);
  const fields = Object.fromEntries(given) as Static<I>;
  const fault = findFieldError(schema, fields, "");
  if (fault) throw new AdminError(fault.message);
  for (const [name, value] of given) {
    const texts = [value].flat().filter((one) => typeof one === "string");
    if (texts.every((one) => cleanText(one) === one)) continue;
    throw new AdminError(`\`${name}\` must hold neither a NUL nor half a surrogate pair.`);
  }
  return fields;
}

export function text(description: string, maxLength = CHARACTERS_MAX) {
  return Type.String({ description, maxLength });
}

export function maybeText(description: string, maxLength = CHARACTERS_MAX) {
  return Type.Optional(text(description, maxLength));
}

const OBJECT = Symbol("object");

/** An id, whole or a part of it, which the API and the command line complete. */
export function idOf(kind: ObjectKind) {
  const description = `Id of the ${kind}, or at least 6 of its first or last characters.`;
  return Object.assign(text(description), { [OBJECT]: kind });
}

/** Lists the fields of an input that are ids. */
export function listIdFields({ properties }: TObject): [name: string, kind: ObjectKind][] {
  return Object.entries(properties).flatMap(([name, schema]): [string, ObjectKind][] => {
    const kind = (schema as { [OBJECT]?: ObjectKind })[OBJECT];
    return kind === undefined ? [] : [[name, kind]];
  });
}

export const account = maybeText("Name of the owner; all accounts without it.");
export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: "Maximum rows; 20 without it." }),
);
export const LIMIT = 20;
export const lifetime = Type.Optional(
  Type.Integer({ minimum: 1, description: "Lifetime in milliseconds; unlimited without it." }),
);

/** Days of a sum, and what it is limited to; deleted keys and agents have sums, too. */
export const usageRange = {
  from: maybeText("First day; 29 days before the last without it."),
  to: maybeText("Last day; today without it."),
  month: maybeText("Month such as 2026-11, in place of both."),
  zone: maybeText("Time zone of the days, such as Asia/Riyadh; UTC without it."),
  account,
  key: maybeText("Whole id of a key; all keys without it."),
  model: maybeText("Model that served them; all models without it."),
  agent: maybeText("Whole id of the agent that ran; all agents without it."),
};

export function flag(description: string) {
  return Type.Optional(Type.Boolean({ description }));
}

export const withAccount = <P extends TProperties>(fields: P) => ({
  ...fields,
  account: Type.Union([Type.String(), Type.Null()], { description: "The owner's name." }),
});
