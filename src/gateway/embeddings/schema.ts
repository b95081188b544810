// The body and the reply of POST /v1/embeddings, for validation and for the API document.
import { type Static, Type } from "@sinclair/typebox";
import { always, Resource, withRules } from "../../platform/schema.ts";
import { DIMENSIONS, type Embedded, MODEL } from "./contract.ts";

/** gateway.limits.embeddings_input */
const INPUTS_MAX = 64;
/** gateway.limits.embeddings_input: maximum code points of all inputs together. */
const CHARACTERS_MAX = 32_000;
/** gateway.limits.user */
const USER_CHARACTERS_MAX = 256;

/** gateway.endpoints.embeddings.input: token lists are no texts. */
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

/** gateway.endpoints.embeddings.p3: unlisted fields are ignored; null is invalid. */
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

/** gateway.endpoints.post_embeddings */
export const STATUS = 200;

const Embedding = Type.Object({
  object: always("embedding"),
  index: Type.Integer({ description: "Which of the inputs it is of, from 0." }),
  embedding: Type.Union(
    [
      Type.Array(Type.Number(), { description: "Of `float`: 1024 numbers." }),
      Type.String({ description: "Of `base64`: 1024 floats of 4 bytes, little-endian." }),
    ],
    { description: "The vector, of unit length." },
  ),
});

/** gateway.resources.embedding.p1 */
export const EmbeddingList = Resource("EmbeddingList", {
  object: always("list"),
  data: Type.Array(Embedding, { description: "One for each input, in their order." }),
  model: Type.Literal(MODEL, { description: "Always `bge-m3`." }),
  usage: Type.Object(
    {
      prompt_tokens: Type.Integer({ description: "Tokens that were converted." }),
      total_tokens: Type.Integer({ description: "The same." }),
    },
    { description: "What was used, in tokens." },
  ),
});

type Format = NonNullable<EmbeddingsRequest["encoding_format"]>;

/** gateway.endpoints.embeddings.p2: one vector for each input, in their order. */
export function writeEmbeddingList(
  { vectors, prompt_tokens }: Pick<Embedded, "vectors" | "prompt_tokens">,
  format: Format,
): Static<typeof EmbeddingList> {
  const write = format === "base64" ? writeBase64 : writeNumbers;
  return {
    object: "list",
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: write(vector),
    })),
    model: MODEL,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  };
}

/** Every machine that Bun runs on is little-endian. */
function writeBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function writeNumbers(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let at = 0; at < vector.length; at++) numbers[at] = shortenDigits(vector[at]!);
  return numbers;
}

/** Powers of ten by which doubles can be divided exactly. */
const SCALES = [1e8, 1e9, 1e10, 1e11, 1e12];

/** Finds a double with few digits for a 32-bit float, which would be written with up to 17. */
function shortenDigits(float: number): number {
  for (const scale of SCALES) {
    const short = Math.round(float * scale) / scale;
    if (Math.fround(short) === float) return short;
  }
  return float;
}
