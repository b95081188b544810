// Fields of other chat interfaces that are ignored here although the caller counts on them.
import type { ModelRequest } from "../../models/index.ts";
import type { ChatRequest } from "./request.ts";

/** By its name, whether a value asks for something else than what comes anyway. */
const COUNTED_ON: Readonly<Record<string, (value: unknown) => boolean>> = {
  response_format: (value) => (value as { type?: unknown }).type !== "text",
  n: (value) => value !== 1,
  max_completion_tokens: () => true,
};

/** gateway.endpoints.chat_completions.3: no such field is refused, so a header names them. */
export function writeIgnored(body: ChatRequest, request: ModelRequest): Record<string, string> {
  const names = Object.keys(COUNTED_ON).filter((name) => {
    const value: unknown = Reflect.get(body, name);
    if (value === undefined || value === null || !COUNTED_ON[name]!(value)) return false;
    return name !== "response_format" || request.response_format === null;
  });
  return names.length === 0 ? {} : { "x-wadi-ignored": names.join(", ") };
}
