// The npm packages `ai` and `@ai-sdk/openai-compatible` against the app on a port.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { KEY, startApp, type TestApp } from "../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ listens: true });
});
afterAll(() => app.stop());

const connect = (apiKey = KEY) =>
  createOpenAICompatible({
    name: "wadi",
    baseURL: `${app.url}/v1`,
    apiKey,
    includeUsage: true,
  })("svc");

const CALLS = '!tool get_weather {"city":"Muscat"}\n!tool get_weather {"city":"Nizwa"}';
const ANSWER = "get_weather answered: 38 in Muscat\nget_weather answered: 38 in Nizwa";
const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    }),
    execute: async ({ city }) => `38 in ${city}`,
  }),
};

describe("the npm package ai", () => {
  test("generateText gets the text, the end and the usage", async () => {
    const { text, finishReason, usage } = await generateText({
      model: connect(),
      system: "Be brief.",
      prompt: "Hello there",
    });
    expect({ text, finishReason }).toEqual({
      text: "You said: Hello there",
      finishReason: "stop",
    });
    expect(usage.totalTokens).toBe(usage.inputTokens! + usage.outputTokens!);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  test("streamText gets piece after piece", async () => {
    const result = streamText({ model: connect(), prompt: "Hello there" });
    const pieces = await Array.fromAsync(result.textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("You said: Hello there");
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).outputTokens).toBe(pieces.length);
  });

  test("generateText calls tools and answers with what they say", async () => {
    const ask = { model: connect(), tools, stopWhen: stepCountIs(3), prompt: CALLS };
    const { text, steps } = await generateText(ask);
    expect(steps[0]!.toolCalls.map(({ input }) => input)).toEqual([
      { city: "Muscat" },
      { city: "Nizwa" },
    ]);
    expect(steps[0]!.finishReason).toBe("tool-calls");
    expect(text).toBe(ANSWER);
  });

  test("streamText does so too", async () => {
    const ask = { model: connect(), tools, stopWhen: stepCountIs(3), prompt: CALLS };
    const result = streamText(ask);
    expect((await Array.fromAsync(result.textStream)).join("")).toBe(ANSWER);
    expect((await result.steps).length).toBe(2);
  });

  test("a refusal is its own error, with the envelope's words", async () => {
    const ask = { model: connect(`${KEY}-revoked`), prompt: "Hello", maxRetries: 0 };
    const error = await generateText(ask).then(
      () => expect.unreachable(),
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(APICallError);
    expect(error).toMatchObject({ statusCode: 401, isRetryable: false });
  });

  test("a stream that dies in the middle ends in an error", async () => {
    const errors: unknown[] = [];
    const result = streamText({
      model: connect(),
      prompt: "!tokens 8\n!cut",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    const parts = await Array.fromAsync(result.stream);
    expect(parts.filter(({ type }) => type === "text-delta").length).toBe(4);
    expect(parts.map(({ type }) => type)).toContain("error");
    expect(errors.length).toBe(1);
  });
});
