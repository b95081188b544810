// The npm package `@ai-sdk/openai` with its default, the Responses API.
import { describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { type APICallError, generateText, stepCountIs, streamText } from "ai";
import { output, streamCalls, tools } from "./ai-client.ts";
import { ANSWER, baseOf, CALLS, CITIES, failureOf, registerDev } from "./dev.ts";

const dev = registerDev();
const connect = () => createOpenAI({ baseURL: baseOf(dev()), apiKey: dev().key })("svc");

describe("the npm package @ai-sdk/openai", () => {
  test("generateText gets the text, the finish reason and the usage", async () => {
    const ask = { model: connect(), system: "Be brief.", prompt: "Hello there" };
    const { text, finishReason, usage, response, warnings } = await generateText(ask);
    expect({ text, finishReason }).toEqual({
      text: "You said: Hello there",
      finishReason: "stop",
    });
    expect(usage.totalTokens).toBe(usage.inputTokens! + usage.outputTokens!);
    expect(response).toMatchObject({ id: expect.stringMatching(/^resp_/), modelId: "svc" });
    expect(warnings ?? []).toEqual([]);
  });

  test("streamText gets the text in chunks", async () => {
    const result = streamText({ model: connect(), prompt: "Hello there" });
    const pieces = await Array.fromAsync(result.textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("You said: Hello there");
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
  });

  test("a reply cut by its token budget says so", async () => {
    const ask = { model: connect(), prompt: "!tokens 40", maxOutputTokens: 5 };
    expect((await generateText(ask)).finishReason).toBe("length");
    expect(await streamText(ask).finishReason).toBe("length");
  });

  test("generateText calls tools and answers with their results", async () => {
    const ask = { model: connect(), tools, stopWhen: stepCountIs(3), prompt: CALLS };
    const { text, steps } = await generateText(ask);
    expect(steps[0]!.toolCalls.map(({ input }) => input)).toEqual(CITIES);
    expect(steps).toHaveLength(2);
    expect(text).toBe(ANSWER);
  });

  test("streamText does so too, with the arguments in chunks", async () => {
    const { text, called, steps } = await streamCalls(connect());
    expect(called).toEqual(CITIES);
    expect(text).toBe(ANSWER);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  });

  test("an object is parsed from the text, complete and streamed", async () => {
    const ask = { model: connect(), output, prompt: "Where?" };
    const whole = (await generateText(ask)).output;
    expect(whole).toEqual({ city: expect.any(String) });
    const parts = await Array.fromAsync(streamText(ask).partialOutputStream);
    expect(parts.at(-1)).toEqual(whole);
  });

  test("a conversation goes on where it is told that nothing is stored", async () => {
    const prompt = `!say One moment.\n${CALLS}`;
    const ask = { model: connect(), tools, stopWhen: stepCountIs(3), prompt };
    const own = { providerOptions: { openai: { store: false } } };
    expect((await generateText({ ...ask, ...own })).text).toBe(ANSWER);
    // Else it names the text by its id, and the error says what to do.
    const failure = (await failureOf(generateText(ask))) as APICallError;
    expect(failure.message).toContain("`store: false`");
    expect(JSON.parse(failure.responseBody!).error.param).toBe("input.1.type");
  });

  test("a failure in a stream is an error", async () => {
    const failures: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void failures.push(error);
    const result = streamText({ model: connect(), prompt: "!cut", onError, maxRetries: 0 });
    await result.consumeStream();
    expect(failures.length).toBeGreaterThan(0);
  });
});
