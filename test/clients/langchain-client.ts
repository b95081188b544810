// The npm package `@langchain/openai` in front of the compiled program.
import { ChatOpenAI, type ClientOptions } from "@langchain/openai";
import type { Server } from "../support/binary.ts";
import { baseOf } from "./dev.ts";

export interface Connection {
  /** Chooses another of the fixed keys. */
  ending?: string;
  maxRetries?: number;
  maxTokens?: number;
  configuration?: ClientOptions;
}

/** The default model as LangChain knows one. */
export function connect(dev: Server, options: Connection = {}): ChatOpenAI {
  const { ending = "", maxRetries = 0, configuration = {}, maxTokens } = options;
  return new ChatOpenAI({
    model: "svc",
    apiKey: `${dev.key}${ending}`,
    maxRetries,
    maxTokens,
    configuration: { baseURL: baseOf(dev), ...configuration },
  });
}
