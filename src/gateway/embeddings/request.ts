// The body of POST /v1/embeddings: its fields, their bounds, and how much text one request takes.
import { type Static, Type } from "@sinclair/typebox";
import { withRules } from "../../platform/schema.ts";
import { DIMENSIONS, MODEL } from "./contract.ts";

/** gateway.limits.embeddings_input */
const INPUTS_MAX = 64;
/** gateway.limits.embeddings_input: of all inputs together, in code points. */
const CHARACTERS_MAX = 32_000;
/** gateway.limits.user */
const USER_CHARACTERS_MAX = 256;

/** gateway.endpoints.embeddings.input: neither numbers of a token list nor such lists are texts. */
const Input = Type.Union(
  [
    Type.String({ minLength: 1 }),
    Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: INPUTS_MAX }),
  ],
  {
    description:
      "One text, or 1 to 64; none empty, together at most 32,000 characters. Of each the first " +
      "4,096 tokens are converted. No token lists.",
  },
);

/** gateway.endpoints.embeddings.p3: what is not listed is ignored, and null is no valid value. */
const Fields = Type.Object(
  {
    input: Input,
    /** gateway.endpoints.embeddings.model */
    model: Type.Optional(Type.Literal(MODEL, { description: "Always `bge-m3`; omitted: it too." })),
    /** gateway.endpoints.embeddings.encoding_format */
    encoding_format: Type.Optional(
      Type.Union([Type.Literal("float"), Type.Literal("base64")], {
        description:
          "`float` (also if omitted): lists of numbers; `base64`: 32-bit little-endian floats.",
      }),
    ),
    /** gateway.endpoints.embeddings.dimensions */
    dimensions: Type.Optional(
      Type.Literal(DIMENSIONS, { description: "Always 1024; omitted: they too." }),
    ),
    /** gateway.endpoints.embeddings.user */
    user: Type.Optional(
      Type.String({
        maxLength: USER_CHARACTERS_MAX,
        description: "Opaque hash of the end user, to 256 characters; it is ignored.",
      }),
    ),
  },
  { $id: "EmbeddingsRequest" },
);

export const EmbeddingsRequest = withRules(Fields, {
  input: ({ input }) =>
    isTooLong(listInputs(input)) ? "must have at most 32,000 characters in all" : null,
});
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** The texts, whichever way they were sent. */
export function listInputs(input: Static<typeof Input>): readonly string[] {
  return typeof input === "string" ? [input] : input;
}

/** A text has at least half as many code points as UTF-16 units, and at most as many. */
function isTooLong(inputs: readonly string[]): boolean {
  const units = inputs.reduce((sum, { length }) => sum + length, 0);
  if (units <= CHARACTERS_MAX) return false;
  if (units > CHARACTERS_MAX * 2) return true;
  let characters = 0;
  for (const text of inputs) for (const _ of text) characters++;
  return characters > CHARACTERS_MAX;
}
