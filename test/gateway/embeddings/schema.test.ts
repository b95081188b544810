// Tests the serialization of vectors: the shortest numbers, and base64.
import { describe, expect, test } from "bun:test";
import { writeEmbeddingList } from "../../../src/gateway/embeddings/schema.ts";
import { createDraw } from "../../http/draw.ts";

const write = (vectors: Float32Array[], format: "float" | "base64") =>
  writeEmbeddingList({ vectors, prompt_tokens: 7 }, format);

/** The value read by a caller with 32-bit floats. */
const readFloats = (vector: Float32Array): Float32Array => {
  const text = JSON.stringify(write([vector], "float").data[0]!.embedding);
  return Float32Array.from(JSON.parse(text) as number[]);
};

test("gateway.resources.embedding.p1 the list has each vector's index and the usage", () => {
  const vectors = [Float32Array.of(0.5, -0.25), Float32Array.of(1, 0)];
  expect(write(vectors, "float")).toEqual({
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [0.5, -0.25] },
      { object: "embedding", index: 1, embedding: [1, 0] },
    ],
    model: "bge-m3",
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
});

describe("gateway.endpoints.embeddings.encoding_format", () => {
  test("gateway.endpoints.embeddings.encoding_format base64 encodes 32-bit little-endian floats", () => {
    const { data } = write([Float32Array.of(1, -0.5, 3.5)], "base64");
    const bytes = "0000803f" + "000000bf" + "00006040";
    expect(data[0]!.embedding).toBe(Buffer.from(bytes, "hex").toString("base64"));
  });

  test("gateway.endpoints.embeddings.encoding_format base64 encodes a vector that is part of a larger buffer", () => {
    const all = Float32Array.of(1, 2, 3, 4);
    const { data } = write([all.subarray(1, 3)], "base64");
    const bytes = Buffer.from(data[0]!.embedding as string, "base64");
    expect([bytes.length, bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([8, 2, 3]);
  });

  test("gateway.endpoints.embeddings.encoding_format float is written short and parses to the same value", () => {
    const short = [0.1, -0.25, 0.031234568, 1e-7, 0.99999994];
    const vector = Float32Array.from(short);
    expect(write([vector], "float").data[0]!.embedding).toEqual(short);
    expect(readFloats(vector)).toEqual(vector);
  });

  test("gateway.endpoints.embeddings.encoding_format every float parses to the same value, however small", () => {
    const edges = [0, 1, -1, 1.17549435e-38, 1e-45, -1e-45, 3.4e38, 1e-12, 5e-13, 0.0078125];
    const vector = Float32Array.from(edges);
    expect(readFloats(vector)).toEqual(vector);
    const draw = createDraw(1);
    const bits = new Uint32Array(50_000).map(() => draw(0x3f80_0000));
    const floats = new Float32Array(bits.buffer);
    expect(readFloats(floats)).toEqual(floats);
  });
});
