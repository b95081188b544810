// The npm package `ai`: embeddings of one text and of more than fit into one request.
import { describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, cosineSimilarity, embed, embedMany, wrapEmbeddingModel } from "ai";
import { baseOf, createNotingFetch, failureOf, registerDev } from "./dev.ts";

const dev = registerDev();

/** The model as these packages know one; `ending` chooses another of the fixed keys. */
function connect(ending = "", fetchUsed: typeof fetch = fetch) {
  const apiKey = `${dev().key}${ending}`;
  const provider = createOpenAICompatible({
    name: "wadi",
    baseURL: baseOf(dev()),
    apiKey,
    fetch: fetchUsed,
  });
  return provider.embeddingModel("bge-m3");
}

describe("the npm package ai", () => {
  test("embed gets a vector of unit length and the usage", async () => {
    const { embedding, usage, response } = await embed({ model: connect(), value: "Hello there" });
    expect(embedding).toHaveLength(1024);
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    expect(usage.tokens).toBeGreaterThan(0);
    expect(response!.headers!["x-request-id"]).toBeString();
  });

  test("embedMany gets them in order, with near vectors for near texts", async () => {
    const values = ["The wadi fills with water", "water fills the wadi", "quarterly revenue"];
    const { embeddings } = await embedMany({ model: connect(), values });
    const [a, b, c] = embeddings as [number[], number[], number[]];
    expect(cosineSimilarity(a, b)).toBeGreaterThan(cosineSimilarity(a, c) + 0.3);
  });

  test("embedMany of more than 64 is split by the model's maximum", async () => {
    const { fetch, noted } = createNotingFetch();
    const model = wrapEmbeddingModel({
      model: connect("", fetch),
      middleware: { specificationVersion: "v4", overrideMaxEmbeddingsPerCall: () => 64 },
    });
    const values = Array.from({ length: 130 }, (_, n) => `text ${n}`);
    const { embeddings, usage } = await embedMany({ model, values });
    expect(noted.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(embeddings).toHaveLength(130);
    const last = await embed({ model, value: "text 129" });
    expect(embeddings[129]).toEqual(last.embedding);
    expect(usage.tokens).toBeGreaterThan(130);
  });

  test("it does not retry a refusal", async () => {
    const { fetch, noted } = createNotingFetch();
    const failure = await failureOf(embed({ model: connect("-none", fetch), value: "Hello" }));
    expect(failure).toBeInstanceOf(APICallError);
    expect(failure).toMatchObject({ statusCode: 403, data: { error: { code: "scope_required" } } });
    const many = failureOf(
      embedMany({ model: connect("", fetch), values: Array<string>(65).fill("x") }),
    );
    expect(await many).toMatchObject({ statusCode: 400, data: { error: { param: "input" } } });
    expect(noted.map(({ status }) => status)).toEqual([403, 400]);
  });
});
