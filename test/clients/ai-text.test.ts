// The npm package `ai`: text, tools in several steps and objects, whole and streamed.
import { describe, expect, test } from "bun:test";
import { generateText, stepCountIs, streamText } from "ai";
import { connect, output, streamCalls, tools } from "./ai-client.ts";
import { ANSWER, CALLS, CITIES, registerDev } from "./dev.ts";

const dev = registerDev();

describe("the npm package ai", () => {
  test("generateText gets the text, the finish reason and the usage", async () => {
    const { text, finishReason, usage, response } = await generateText({
      model: connect(dev()),
      system: "Be brief.",
      prompt: "Hello there",
    });
    expect({ text, finishReason }).toEqual({
      text: "You said: Hello there",
      finishReason: "stop",
    });
    expect(usage.totalTokens).toBe(usage.inputTokens! + usage.outputTokens!);
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(response).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), modelId: "svc" });
    expect(response.headers!["x-request-id"]).toBeString();
  });

  test("streamText gets the text in chunks", async () => {
    const result = streamText({ model: connect(dev()), prompt: "Hello there" });
    const pieces = await Array.fromAsync(result.textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("You said: Hello there");
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).outputTokens).toBe(pieces.length);
  });

  test("a reply cut by its token budget says so", async () => {
    const ask = { model: connect(dev()), prompt: "!tokens 40", maxOutputTokens: 5 };
    expect((await generateText(ask)).finishReason).toBe("length");
    expect(await streamText(ask).finishReason).toBe("length");
  });

  test("generateText calls tools and answers with their results", async () => {
    const ask = { model: connect(dev()), tools, stopWhen: stepCountIs(3), prompt: CALLS };
    const { text, steps } = await generateText(ask);
    expect(steps[0]!.toolCalls.map(({ input }) => input)).toEqual(CITIES);
    expect(steps[0]!.finishReason).toBe("tool-calls");
    expect(steps).toHaveLength(2);
    expect(text).toBe(ANSWER);
  });

  test("streamText does so too, with the arguments in chunks", async () => {
    const { text, called, steps } = await streamCalls(connect(dev()));
    expect(called).toEqual(CITIES);
    expect(text).toBe(ANSWER);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]!.toolCalls.map(({ input }) => input)).toEqual(CITIES);
  });

  test("an object is parsed from the text, complete and streamed", async () => {
    const ask = { model: connect(dev()), output, prompt: `!say ${JSON.stringify(CITIES[0])}` };
    expect((await generateText(ask)).output).toEqual(CITIES[0]!);
    const parts = await Array.fromAsync(streamText(ask).partialOutputStream);
    expect(parts.at(-1)).toEqual(CITIES[0]!);
  });
});
