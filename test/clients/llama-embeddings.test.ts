// Embeddings by a real llama.cpp server.
//
// Runs if WADI_TEST_LLAMA_EMBEDDINGS holds the server's address, up to and with /v1. Its vectors must
// have 1,024 numbers. Either of these servers works, with any model of that width. The second counts
// no tokens, and its model must name its pooling (`llama.pooling_type`):
//   llama-server -m MODEL.gguf --embeddings --pooling mean -c 8192 -b 8192 -ub 8192
//   python3 -m llama_cpp.server --model MODEL.gguf --embedding true --n_ctx 8192 --n_batch 8192
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { connect, expectFailure, expectGood } from "../gateway/embeddings/provider/connect.ts";

const server = process.env.WADI_TEST_LLAMA_EMBEDDINGS ?? "";

/** How near two texts are; 1: they have the same direction. */
const compare = (one: Float32Array, other: Float32Array) =>
  one.reduce((sum, number, at) => sum + number * other[at]!, 0);

describe.skipIf(server === "")("embeddings by a llama.cpp server", async () => {
  const client = new OpenAI({ baseURL: server, apiKey: "none" });
  const name = server === "" ? "" : (await client.models.list()).data[0]!.id;
  const open = (url = server) => connect([url], `model = ${JSON.stringify(name)}`);

  test("equal those of the server itself", async () => {
    const { data } = await client.embeddings.create({
      model: name,
      input: "Hello",
      encoding_format: "float",
    });
    const embedded = await expectGood(open().embed(["Hello"]));
    expect(compare(embedded.vectors[0]!, Float32Array.from(data[0]!.embedding))).toBeCloseTo(
      // Some servers do not normalise their vectors.
      Math.hypot(...data[0]!.embedding),
      2,
    );
    expect(embedded.prompt_tokens).toBeGreaterThan(1);
    expect(embedded.usageEstimated).toBeUndefined();
  });

  test("keep the order of 64 texts", async () => {
    const inputs = Array.from({ length: 64 }, (_, at) => `text of number ${at}`);
    const { embed } = open();
    const embedded = await expectGood(embed(inputs));
    for (const at of [0, 17, 63]) {
      const alone = await expectGood(embed([inputs[at]!]));
      const near = embedded.vectors.map((vector) => compare(vector, alone.vectors[0]!));
      expect(near.indexOf(Math.max(...near))).toBe(at);
    }
  });

  test("use the first 4,096 tokens of a long text, or an estimate where the server cannot tokenize", async () => {
    const root = server.replace(/\/v1$/, "");
    const body = JSON.stringify({ content: "the" });
    const canTokenize = (await fetch(`${root}/tokenize`, { method: "POST", body })).ok;
    // A few bytes a token in every vocabulary: more than 4,096 of them in any.
    const long = "the time ".repeat(2_500);
    const { embed } = open();
    const embedded = await expectGood(embed([long]));
    expect(embedded.prompt_tokens).toBeLessThanOrEqual(4_096);
    expect(embedded.prompt_tokens).toBeGreaterThan(3_900);
    if (!canTokenize) return;
    expect(embedded.prompt_tokens).toBe(4_096);
    const longer = await expectGood(embed([`${long} and more`]));
    expect(longer.prompt_tokens).toBe(4_096);
    expect(compare(longer.vectors[0]!, embedded.vectors[0]!)).toBeCloseTo(1, 4);
  }, 120_000);

  test("from an unknown address are an error", async () => {
    const failure = await expectFailure(open(`${server}/nowhere/v1`).embed(["Hello"]));
    expect(failure.code).toBe("model_unavailable");
  });
});
