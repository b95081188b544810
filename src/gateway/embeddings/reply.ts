// The reply of POST /v1/embeddings: its shape for the document, and its vectors as they were asked.
import { type Static, Type } from "@sinclair/typebox";
import { Resource } from "../../platform/schema.ts";
import { type Embedded, MODEL } from "./contract.ts";
import type { EmbeddingsRequest } from "./request.ts";

/** gateway.endpoints.post_embeddings */
export const STATUS = 200;

const Embedding = Type.Object({
  object: Type.Literal("embedding", { description: "Always `embedding`." }),
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
  object: Type.Literal("list", { description: "Always `list`." }),
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

/** Every machine that Bun runs on keeps its floats as they are wanted here: little-endian. */
function writeBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function writeNumbers(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let at = 0; at < vector.length; at++) numbers[at] = shorten(vector[at]!);
  return numbers;
}

/** Powers of ten that a double holds exactly, and by which it divides to the nearest. */
const SCALES = [1e8, 1e9, 1e10, 1e11, 1e12];

/**
 * A number with few digits that is the same 32-bit float: as the double that it is it would be
 * written with up to 17, which takes as long and is two thirds longer.
 */
function shorten(float: number): number {
  for (const scale of SCALES) {
    const short = Math.round(float * scale) / scale;
    if (Math.fround(short) === float) return short;
  }
  return float;
}
