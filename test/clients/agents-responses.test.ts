// The OpenAI Agents SDK with its default, the Responses API.
import { beforeAll, describe, expect, test } from "bun:test";
import {
  Agent,
  MCPServerStreamableHttp,
  run,
  setDefaultOpenAIClient,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import { ANSWER, CALLS, CITIES, registerDev, WEATHER } from "./dev.ts";
import { connect } from "./openai-client.ts";

const dev = registerDev();
const asked: unknown[] = [];
const weather = tool({
  ...WEATHER,
  parameters: { ...WEATHER.parameters, additionalProperties: false as const },
  strict: true,
  execute: async (input) => {
    const { city } = input as { city: string };
    asked.push({ city });
    return `38 in ${city}`;
  },
});

describe("the npm package @openai/agents", () => {
  beforeAll(() => {
    setDefaultOpenAIClient(connect(dev()) as never);
    setTracingDisabled(true);
  });

  test("an agent answers, and goes on with its history", async () => {
    const agent = new Agent({ name: "Guide", instructions: "Be brief.", model: "svc" });
    const first = await run(agent, "Hello");
    expect(first.finalOutput).toBe("You said: Hello");
    const more = [...first.history, { role: "user" as const, content: "And now?" }];
    expect((await run(agent, more)).finalOutput).toBe("You said: And now?");
  });

  for (const stream of [false, true] as const) {
    test(`it calls tools and answers with their results, ${stream ? "streamed" : "whole"}`, async () => {
      asked.length = 0;
      const agent = new Agent({ name: "Guide", model: "svc", tools: [weather] });
      const prompt = `!say One moment.\n${CALLS}`;
      let answer: unknown;
      if (stream) {
        const result = await run(agent, prompt, { stream: true });
        await result.completed;
        answer = result.finalOutput;
      } else answer = (await run(agent, prompt)).finalOutput;
      expect(answer).toBe(ANSWER);
      expect(asked).toEqual(CITIES);
    });
  }

  test("an agent calls an agent of ours at /mcp", async () => {
    const body = { name: "Guide", slug: "guide", system_prompt: "Be brief.", expose: true };
    expect((await dev().ask("POST", "/v1/agents", { body })).status).toBe(201);
    const requestInit = { headers: { authorization: `Bearer ${dev().key}` } };
    const url = `${dev().url}/mcp`;
    const server = new MCPServerStreamableHttp({ name: "wadi", url, requestInit });
    await server.connect();
    expect((await server.listTools()).map(({ name }) => name)).toContain("guide");
    const agent = new Agent({ name: "Asker", model: "svc", mcpServers: [server] });
    const { finalOutput } = await run(agent, '!tool guide {"message":"Hello"}');
    expect(finalOutput).toContain("You said: Hello");
    await server.close();
  });

  test("a stream yields the text in pieces", async () => {
    const agent = new Agent({ name: "Guide", model: "svc" });
    const result = await run(agent, "Hello there", { stream: true });
    const pieces = await Array.fromAsync(result.toTextStream());
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("You said: Hello there");
  });

  test("an output type is an object", async () => {
    const outputType = {
      ...{ type: "json_schema" as const, name: "city", strict: true },
      schema: { ...WEATHER.parameters, additionalProperties: false as const },
    };
    const agent = new Agent({ name: "Guide", model: "svc", outputType });
    const { finalOutput } = await run(agent, "Where?");
    expect(finalOutput).toEqual({ city: expect.any(String) });
  });
});
