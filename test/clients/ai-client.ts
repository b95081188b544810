// The npm packages `ai` and `@ai-sdk/openai-compatible` in front of the compiled program.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import type { Server } from "../support/binary.ts";
import { baseOf } from "./dev.ts";

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
