// The npm package `@langchain/openai`: embeddings of a question and of more documents than fit into
// one request.
import { describe, expect, test } from "bun:test";
import { OpenAIEmbeddings } from "@langchain/openai";
import { baseOf, createNotingFetch, failureOf, registerDev } from "./dev.ts";

const dev = registerDev();

/** The model as LangChain knows one; `ending` chooses another of the fixed keys. */
function connect(
  ending = "",
  options: Partial<ConstructorParameters<typeof OpenAIEmbeddings>[0]> = {},
) {
  const { configuration, ...rest } = options;
  const noting = createNotingFetch();
  const embeddings = new OpenAIEmbeddings({
    model: "bge-m3",
    batchSize: 64,
    apiKey: `${dev().key}${ending}`,
    maxRetries: 0,
    configuration: { baseURL: baseOf(dev()), fetch: noting.fetch, ...configuration },
    ...rest,
  });
  return { embeddings, noted: noting.noted };
}

describe("the npm package @langchain/openai", () => {
  test("embedQuery gets a vector of unit length", async () => {
    const vector = await connect().embeddings.embedQuery("Hello\nthere");
    expect(vector).toHaveLength(1024);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  test("embedDocuments gets one vector per text in order, 64 in each request", async () => {
    const { embeddings, noted } = connect();
    const texts = Array.from({ length: 130 }, (_, n) => `text ${n}`);
    const vectors = await embeddings.embedDocuments(texts);
    expect(noted.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(vectors).toHaveLength(130);
    expect(vectors[129]).toEqual(await embeddings.embedQuery("text 129"));
  });

  test("dimensions and the encoding may be set", async () => {
    const plain = await connect().embeddings.embedQuery("Hello");
    const named = connect("", { dimensions: 1024, encodingFormat: "float" }).embeddings;
    const vector = await named.embedQuery("Hello");
    expect(Float32Array.from(vector)).toEqual(Float32Array.from(plain));
  });

  test("it reports a refusal and does not retry it", async () => {
    const none = connect("-none", { maxRetries: 2 });
    expect(await failureOf(none.embeddings.embedQuery("Hello"))).toMatchObject({
      status: 403,
      code: "scope_required",
    });
    expect(none.noted).toHaveLength(1);
    // By default it sends up to 512 at once.
    const large = connect("", { batchSize: 512, maxRetries: 2 });
    const texts = Array<string>(65).fill("x");
    expect(await failureOf(large.embeddings.embedDocuments(texts))).toMatchObject({
      status: 400,
      param: "input",
    });
    expect(large.noted).toHaveLength(1);
  });
});
