// The npm package `@anthropic-ai/sdk` in front of the compiled program.
import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import type { Server } from "../support/binary.ts";

/** `ending` chooses another of the fixed keys. */
export function connect(dev: Server, ending = "", options: ClientOptions = {}): Anthropic {
  const apiKey = `${dev.key}${ending}`;
  // No token of the environment, which the package would send beside the key.
  return new Anthropic({ baseURL: dev.url, apiKey, authToken: null, maxRetries: 0, ...options });
}

/** A request with one user message. */
export const say = (content: string) => ({
  model: "svc",
  max_tokens: 200,
  messages: [{ role: "user" as const, content }],
});
