// The npm packages `ai` and `@ai-sdk/openai-compatible` in front of the compiled program.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai";
import type { Server } from "../support/binary.ts";
import { baseOf, CALLS, WEATHER } from "./dev.ts";

export interface Connection {
  /** Chooses another of the fixed keys. */
  ending?: string;
  fetch?: typeof fetch;
  headers?: Record<string, string>;
}

/** The default model as these packages know one. */
export function connect(dev: Server, { ending = "", ...rest }: Connection = {}): LanguageModel {
  const apiKey = `${dev.key}${ending}`;
  const provider = createOpenAICompatible({
    name: "wadi",
    baseURL: baseOf(dev),
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...rest,
  });
  return provider("svc");
}

const inputSchema = jsonSchema<{ city: string }>(WEATHER.parameters);

export const tools = {
  get_weather: tool({
    description: WEATHER.description,
    inputSchema,
    execute: async ({ city }) => `38 in ${city}`,
  }),
};
export const output = Output.object({ schema: inputSchema });

/** Streams the answer to CALLS; returns its text, and the arguments joined from their pieces. */
export async function streamCalls(model: LanguageModel) {
  const result = streamText({ model, tools, stopWhen: stepCountIs(3), prompt: CALLS });
  const inputs = new Map<string, string>();
  let text = "";
  for await (const part of result.stream) {
    if (part.type === "tool-input-start") inputs.set(part.id, "");
    if (part.type === "tool-input-delta") inputs.set(part.id, inputs.get(part.id)! + part.delta);
    if (part.type === "text-delta") text += part.text;
  }
  const called = [...inputs.values()].map((input) => JSON.parse(input));
  return { text, called, steps: await result.steps };
}
