// The npm package `openai`: embeddings, which it requests in base64 by default, and their errors.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { createNotingFetch, failureOf, registerDev } from "./dev.ts";
import { connect } from "./openai-client.ts";

const dev = registerDev();
const MODEL = "bge-m3";

describe("the npm package openai", () => {
  test("it gets one vector per text, in order, with the usage", async () => {
    const client = connect(dev());
    const list = await client.embeddings.create({ model: MODEL, input: ["Hello", "there"] });
    expect(list).toMatchObject({ object: "list", model: MODEL });
    expect(list.data.map(({ index, object }) => [index, object])).toEqual([
      [0, "embedding"],
      [1, "embedding"],
    ]);
    for (const { embedding } of list.data) {
      expect(embedding).toHaveLength(1024);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
    expect(list.usage.prompt_tokens).toBeGreaterThan(0);
    expect(list.usage.total_tokens).toBe(list.usage.prompt_tokens);
    expect(list._request_id).toBeString();
  });

  test("it reads the same floats from base64, which it chooses, and from numbers", async () => {
    const { embeddings } = connect(dev());
    const ask = { model: MODEL, input: "The wadi fills with water" };
    const [chosen, float] = await Promise.all([
      embeddings.create(ask),
      embeddings.create({ ...ask, encoding_format: "float", dimensions: 1024, user: "u" }),
    ]);
    const vector = Float32Array.from(float.data[0]!.embedding);
    expect(Float32Array.from(chosen.data[0]!.embedding)).toEqual(vector);
    const raw = await embeddings.create({ ...ask, encoding_format: "base64" });
    const bytes = Buffer.from(raw.data[0]!.embedding as unknown as string, "base64");
    expect(bytes).toEqual(Buffer.from(vector.buffer));
  });

  test("it reports a refusal, with the element at fault", async () => {
    const { embeddings } = connect(dev());
    const tokens = await failureOf(embeddings.create({ model: MODEL, input: [1, 2] }));
    expect(tokens).toBeInstanceOf(OpenAI.BadRequestError);
    expect(tokens).toMatchObject({ status: 400, code: "invalid_request", param: "input.0" });
    const other = embeddings.create({ model: "text-embedding-3-small", input: "Hello" });
    expect(await failureOf(other)).toMatchObject({ status: 400, param: "model" });
    const none = connect(dev(), "-none").embeddings.create({ model: MODEL, input: "Hello" });
    const scope = await failureOf(none);
    expect(scope).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(scope).toMatchObject({ status: 403, code: "scope_required", param: undefined });
  });

  test("it retries when its quota is exhausted, after the wait in Retry-After", async () => {
    const { fetch, noted } = createNotingFetch();
    const { embeddings } = connect(dev(), "-other", { fetch, maxRetries: 2 });
    const ask = { model: MODEL, input: "Hello" };
    for (let n = 0; n < 20; n++) await embeddings.create(ask);
    const failure = await failureOf(embeddings.create(ask));
    expect(failure).toBeInstanceOf(OpenAI.RateLimitError);
    expect(failure).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    expect(noted.map(({ status }) => status)).toEqual([...Array(20).fill(200), 429, 429, 429]);
    for (const { retry_after } of noted.slice(20))
      expect(retry_after).toMatch(/^([1-9]|[1-5]\d|60)$/);
  });
});
