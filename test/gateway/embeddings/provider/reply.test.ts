// Tests that every vector of a server is checked; an invalid or missing one is a failure.
import { describe, expect, test } from "bun:test";
import { readData, readEmbeddings } from "../../../../src/gateway/embeddings/provider/reply.ts";
import { encode, type Json, ollama, vectorOf, vllm } from "../../../support/embedding-servers.ts";
import { connect, expectFailure, serve } from "./connect.ts";

const ONE = vectorOf([1]);
const TWO = vectorOf([2]);
const entry = (embedding: unknown, index?: unknown) => ({ object: "embedding", index, embedding });
const read = (...entries: unknown[]) => {
  const reading = readData(JSON.stringify({ data: entries, usage: { prompt_tokens: 3 } }), 2);
  return typeof reading === "string" ? reading : reading.vectors;
};
const NUMBERS = "a vector of its reply has not 1024 numbers";
const INCOMPLETE = "its reply has not one vector for each input";
const NO_LIST = "its reply is no list of vectors";

describe("gateway.endpoints.embeddings.p2: the order", () => {
  const ORDERS: [string, unknown[]][] = [
    ["is that of the index", [entry([...TWO], 1), entry([...ONE], 0)]],
    ["is that of the entries if none has an index", [entry([...ONE]), entry([...TWO])]],
    ["is that of the entries if all are null", [entry([...ONE], null), entry([...TWO], null)]],
    ["may be of both forms", [entry(encode(TWO), 1), entry([...ONE], 0)]],
    ["may be of base64 without its end", [entry(encode(ONE).slice(0, -2)), entry(encode(TWO))]],
  ];
  test.each(ORDERS)("%s", (_, entries) => {
    expect(read(...entries)).toEqual([ONE, TWO]);
  });

  const BROKEN: [string, unknown[]][] = [
    ["there twice", [entry([...ONE], 0), entry([...TWO], 0)]],
    ["left out", [entry([...ONE], 0)]],
    ["one too many", [entry([...ONE], 0), entry([...TWO], 1), entry([...TWO], 2)]],
    ["without index among others", [entry([...ONE], 0), entry([...TWO])]],
    ["of an index too high", [entry([...ONE], 0), entry([...TWO], 2)]],
    ["of an index far too high", [entry([...ONE], 0), entry([...TWO], 4_000_000_000)]],
    ["of an index below zero", [entry([...ONE], 0), entry([...TWO], -1)]],
    ["of half an index", [entry([...ONE], 0), entry([...TWO], 0.5)]],
    ["of a text for its index", [entry([...ONE], 0), entry([...TWO], "1")]],
    ["none at all", []],
  ];
  test.each(BROKEN)("a vector that is %s makes the reply invalid", (_, entries) => {
    expect(read(...entries)).toBe(INCOMPLETE);
  });
});

describe("gateway.endpoints.embeddings.p1: a vector", () => {
  const expectUnit = (vector: Float32Array) =>
    expect(Math.abs(Math.hypot(...vector) - 1)).toBeLessThan(1e-6);

  test.each([1e-30, 0.5, 0.9999, 1.00001, 1.001, 17, 1e30])(
    "of length %d is normalised to one",
    (length) => {
      const numbers = [...ONE].map((number) => number * length);
      const [vector] = read(
        entry(numbers),
        entry(encode(Float32Array.from(numbers))),
      ) as Float32Array[];
      expectUnit(vector!);
      for (const [at, number] of vector!.entries()) expect(number).toBeCloseTo(ONE[at]!, 6);
    },
  );

  test("of unit length stays unchanged, to the last bit", () => {
    expect(read(entry(encode(ONE)), entry([...TWO]))).toEqual([ONE, TWO]);
  });

  const withOne = (number: unknown) => [number, ...[...ONE].slice(1)];
  const FINITE = "a vector of its reply has numbers that are not finite";
  const NO_DIRECTION = "a vector of its reply has no direction";
  const WRONG: [string, unknown, string][] = [
    ["a number too few", [...ONE].slice(1), NUMBERS],
    ["a number too many", [...ONE, 0], NUMBERS],
    ["768 numbers", [...ONE].slice(256), NUMBERS],
    ["base64 of 768 numbers", encode(ONE.slice(256)), NUMBERS],
    [
      "base64 of 64-bit floats",
      Buffer.from(Float64Array.from(ONE).buffer).toString("base64"),
      NUMBERS,
    ],
    ["base64 with other letters in it", `!!!!${encode(ONE).slice(4)}`, NUMBERS],
    ["no text", "", NUMBERS],
    ["nothing", undefined, NUMBERS],
    ["null", null, NUMBERS],
    ["one number", 1, NUMBERS],
    ["a table", { 0: 1 }, NUMBERS],
    ["a list of lists", [[...ONE]], NUMBERS],
    ["null among its numbers, as NaN is written", withOne(null), FINITE],
    ["a text among its numbers", withOne("1"), FINITE],
    ["a number beyond 32 bits", withOne(1e39), FINITE],
    ["NaN in base64", encode(Float32Array.from(withOne(Number.NaN) as number[])), FINITE],
    ["infinity in base64", encode(Float32Array.from(withOne(-Infinity) as number[])), FINITE],
    ["zeros", new Array(1_024).fill(0), NO_DIRECTION],
    ["zeros in base64", encode(new Float32Array(1_024)), NO_DIRECTION],
    ["numbers too small for 32 bits", new Array(1_024).fill(1e-60), NO_DIRECTION],
  ];
  test.each(WRONG)("of %s makes the reply invalid", (_, raw, why) => {
    expect(read(entry([...ONE], 0), entry(raw, 1))).toBe(why);
  });
});

describe("the body of a reply", () => {
  const TEXTS: [string, string][] = [
    ["a page", "<html>"],
    ["a list", "[]"],
    ["null", "null"],
    ["nothing", ""],
    ["without data", '{"object":"list"}'],
    ["with a table for data", '{"data":{"0":{}}}'],
    ["an error under a good status", '{"error":{"message":"no"}}'],
  ];
  test.each(TEXTS)("is invalid if it is %s", (_, text) => {
    expect(readData(text, 1)).toBe(NO_LIST);
    expect(readEmbeddings(text, 1)).toBe(NO_LIST);
  });

  test("is invalid with entries that are no objects", () => {
    expect(readData(JSON.stringify({ data: [null] }), 1)).toBe(NUMBERS);
    expect(readData(JSON.stringify({ data: [[1, 2]] }), 1)).toBe(NUMBERS);
  });

  test("of Ollama needs a vector for each input, and has its token count", () => {
    const text = (...vectors: unknown[]) =>
      JSON.stringify({ embeddings: vectors, prompt_eval_count: 9 });
    expect(readEmbeddings(text([...ONE], [...TWO]), 2)).toEqual({
      vectors: [ONE, TWO],
      prompt_tokens: 9,
    });
    expect(readEmbeddings(text([...ONE]), 2)).toBe(INCOMPLETE);
    expect(readEmbeddings(text([]), 1)).toBe(NUMBERS);
  });
});

describe("an invalid reply", () => {
  const spoil = (spoiled: Json) => (): unknown => ({ ...spoiled });
  test.each([
    ["of another dimension", vllm, "POST /v1/embeddings", { data: [entry([1, 0])] }],
    ["of Ollama", ollama, "POST /api/embed", { embeddings: [] }],
  ])("%s is 502 with the reason in the log, and another replica succeeds", async (...row) => {
    const [, kind, path, spoiled] = row;
    const [bad, good] = [serve(kind()), serve(kind())];
    bad.routes = { ...bad.routes, [path]: spoil(spoiled) };
    const alone = await expectFailure(connect([bad.url]).embed(["a"]));
    expect(alone).toMatchObject({ code: "upstream_error", retryable: true, upstreamStatus: 200 });
    const both = await connect([bad.url, good.url]).embed(["a"]);
    expect(both).toMatchObject({ ok: true, attempts: 2 });
  });

  test("of more than 4 MB is cut off", async () => {
    const server = serve({
      "POST /v1/embeddings": () => new Response(new Uint8Array(4 * 1024 * 1024 + 1)),
    });
    const failure = await expectFailure(connect([server.url]).embed(["a"]));
    expect(failure).toMatchObject({
      code: "upstream_error",
      retryable: true,
      upstreamStatus: 200,
    });
  });
});
