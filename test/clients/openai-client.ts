// The npm package `openai` in front of the compiled program.
import OpenAI, { type ClientOptions } from "openai";
import type { Server } from "../support/binary.ts";
import { baseOf } from "./dev.ts";

/** `ending` chooses another of the fixed keys. */
export function connect(dev: Server, ending = "", options: ClientOptions = {}): OpenAI {
  const apiKey = `${dev.key}${ending}`;
  return new OpenAI({ baseURL: baseOf(dev), apiKey, maxRetries: 0, ...options });
}

/** A chat with one user message. */
export const say = (content: string) => ({
  model: "svc",
  messages: [{ role: "user" as const, content }],
});
