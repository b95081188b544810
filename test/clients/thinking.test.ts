// How each client library requests deep thinking, as documented; each gets the usage of all
// attempts. The npm package `openai` gets search results too.
import { expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { generateText } from "ai";
import { baseOf, failureOf, registerDev } from "./dev.ts";
import { connect, say } from "./openai-client.ts";

const dev = registerDev();
/** At least three attempts, whose replies are all equal here. */
const ATTEMPTS = 3;

async function countPlain(): Promise<number> {
  const reply = await connect(dev()).chat.completions.create(say("Hello there"));
  return reply.usage!.total_tokens;
}

test("openai sends `think` as a field, with and without a stream", async () => {
  const total = (await countPlain()) * ATTEMPTS;
  const ask = { ...say("Hello there"), think: true };
  const reply = await connect(dev()).chat.completions.create(ask);
  expect(reply.choices[0]!.message.content).toBe("You said: Hello there");
  expect(reply.usage!.total_tokens).toBe(total);
  const stream_options = { include_usage: true };
  const request = { ...ask, stream: true as const, stream_options };
  const chunks = await Array.fromAsync(await connect(dev()).chat.completions.create(request));
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  expect(text).toBe("You said: Hello there");
  expect(chunks.at(-1)!.usage!.total_tokens).toBe(total);
});

test("ai sends it as a provider option", async () => {
  const baseURL = baseOf(dev());
  const wadi = createOpenAICompatible({ name: "wadi", baseURL, apiKey: dev().key });
  const { text, usage } = await generateText({
    model: wadi("svc"),
    prompt: "Hello there",
    providerOptions: { wadi: { think: true } },
  });
  expect(text).toBe("You said: Hello there");
  expect(usage.totalTokens).toBe((await countPlain()) * ATTEMPTS);
});

test("@langchain/openai sends it in the model's keyword arguments", async () => {
  const model = new ChatOpenAI({
    model: "svc",
    apiKey: dev().key,
    configuration: { baseURL: baseOf(dev()) },
    modelKwargs: { think: true },
  });
  const reply = await model.invoke("Hello there");
  expect(reply.text).toBe("You said: Hello there");
  expect(reply.usage_metadata!.total_tokens).toBe((await countPlain()) * ATTEMPTS);
});

test("openai posts a search, and reports a missing scope by its code", async () => {
  const body = { query: "What is Wadi?", max_results: 1 };
  const found = await connect(dev()).post("/search", { body });
  expect(found).toMatchObject({ object: "list", data: [{ title: "What Wadi is" }] });
  const refused = await failureOf(connect(dev(), "-none").post("/search", { body }));
  expect(refused).toMatchObject({ status: 403, code: "scope_required" });
});
