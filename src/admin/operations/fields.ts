// Input fields that several operations have.
import { type TObject, type TProperties, Type } from "@sinclair/typebox";

const CHARACTERS_MAX = 4_096;
const ROWS_MAX = 10_000;

export const NO_INPUT: TObject = Type.Object({}, { additionalProperties: false });

export function input<P extends TProperties>(fields: P) {
  return Type.Object(fields, { additionalProperties: false });
}

export function text(description: string, maxLength = CHARACTERS_MAX) {
  return Type.String({ description, maxLength });
}

export function maybeText(description: string, maxLength = CHARACTERS_MAX) {
  return Type.Optional(text(description, maxLength));
}

export const id = text("Id of the object.");
export const account = maybeText("Name of the owner; all accounts without it.");
export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: "Maximum rows; 20 without it." }),
);
export const LIMIT = 20;
export const lifetime = Type.Optional(
  Type.Integer({ minimum: 1, description: "Lifetime in milliseconds; unlimited without it." }),
);

export function flag(description: string) {
  return Type.Optional(Type.Boolean({ description }));
}

export const withAccount = <P extends TProperties>(fields: P) => ({
  ...fields,
  account: Type.Union([Type.String(), Type.Null()], { description: "The owner's name." }),
});
