// Creates model requests with only what a test is about.
import type { ModelRequest } from "../../src/models/providers/contract.ts";

/** A text is the only user message; the budget is the largest by default. */
export function createAsk(
  message: string | ModelRequest["messages"],
  some: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    request_id: "request-1",
    trace: null,
    account: "account-1",
    messages: typeof message === "string" ? [{ role: "user", content: message }] : message,
    max_tokens: 8_192,
    tools: [],
    tool_choice: null,
    temperature: null,
    top_p: null,
    presence_penalty: null,
    frequency_penalty: null,
    seed: null,
    stop: [],
    response_format: null,
    reasoning: false,
    stream: false,
    ...some,
  };
}
