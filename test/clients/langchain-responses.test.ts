// The npm package `@langchain/openai` with `useResponsesApi`.
import { describe, expect, test } from "bun:test";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { ANSWER, baseOf, CALLS, CITIES, registerDev, WEATHER } from "./dev.ts";

const dev = registerDev();
const connect = (fields: object = {}) =>
  new ChatOpenAI({
    ...{ model: "svc", apiKey: dev().key, maxRetries: 0, useResponsesApi: true },
    configuration: { baseURL: baseOf(dev()) },
    ...fields,
  });
const TOOL = { type: "function" as const, function: WEATHER };

describe("the npm package @langchain/openai with useResponsesApi", () => {
  test("invoke gets the text and the usage", async () => {
    const { text, usage_metadata } = await connect().invoke("Hello");
    expect(text).toBe("You said: Hello");
    expect(usage_metadata!.total_tokens).toBeGreaterThan(0);
  });

  test("stream gets the text in chunks", async () => {
    const chunks = await Array.fromAsync(await connect().stream("Hello there"));
    expect(chunks.map(({ text }) => text).join("")).toBe("You said: Hello there");
    expect(chunks.filter(({ text }) => text !== "").length).toBeGreaterThan(1);
  });

  for (const streaming of [false, true]) {
    test(`calls are answered with results, ${streaming ? "streamed" : "whole"}`, async () => {
      const model = connect({ streaming }).bindTools([TOOL]);
      const asked = new HumanMessage(`!say One moment.\n${CALLS}`);
      const called = await model.invoke([asked]);
      expect(called.text).toBe("One moment.");
      expect(called.tool_calls!.map(({ args }) => args)).toEqual(CITIES);
      const results = called.tool_calls!.map(
        ({ id, args }) => new ToolMessage({ tool_call_id: id!, content: `38 in ${args.city}` }),
      );
      expect((await model.invoke([asked, called, ...results])).text).toBe(ANSWER);
    });
  }

  test("an object follows its schema", async () => {
    const model = connect().withStructuredOutput(WEATHER.parameters, { name: "city" });
    expect(await model.invoke("Where?")).toEqual({ city: expect.any(String) });
  });
});
