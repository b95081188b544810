// Creates model requests from the fields that a test needs.
import { createPlainRequest, type ModelRequest } from "../../src/models/providers/contract.ts";

/** A string becomes the only user message; the budget is the largest by default. */
export function createAsk(
  message: string | ModelRequest["messages"],
  some: Partial<ModelRequest> = {},
): ModelRequest {
  const messages =
    typeof message === "string" ? [{ role: "user" as const, content: message }] : message;
  const own = { request_id: "request-1", account: "account-1", messages, max_tokens: 8_192 };
  return { ...createPlainRequest(own), ...some };
}
