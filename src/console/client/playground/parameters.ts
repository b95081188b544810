// The parameters of a chat as a person types them.
import type { ChatBody, PlaygroundMessage } from "./stream.ts";

export interface ChatParameters {
  /** "" asks the default model. */
  model: string;
  system: string;
  temperature: string;
  maxTokens: string;
  reasoning: boolean;
  think: boolean;
}

export const NO_PARAMETERS: ChatParameters = {
  ...{ model: "", system: "", temperature: "", maxTokens: "" },
  ...{ reasoning: false, think: false },
};

/** Leaves out empty fields, so that the gateway decides. */
export function buildRequest(
  parameters: ChatParameters,
  messages: readonly PlaygroundMessage[],
): ChatBody {
  const { model, system, temperature, maxTokens, reasoning, think } = parameters;
  const start: PlaygroundMessage[] = system === "" ? [] : [{ role: "system", content: system }];
  return {
    ...(model !== "" && { model }),
    messages: [...start, ...messages],
    ...(temperature !== "" && { temperature: Number(temperature) }),
    ...(maxTokens !== "" && { max_tokens: Number(maxTokens) }),
    ...(reasoning && { reasoning }),
    ...(think && { think }),
    stream: true,
    stream_options: { include_usage: true },
  };
}
