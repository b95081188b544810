// Writes the body that a chat-completions server is asked with.
import type { Ask, Message } from "./contract.ts";

/** The upstream's body: only what the standard format names, and only what was asked for. */
export function writeRequest(ask: Ask, model: string): string {
  const body: Record<string, unknown> = {
    model,
    messages: ask.messages.map(writeMessage),
    max_tokens: ask.max_tokens,
  };
  if (ask.tools.length > 0) body.tools = ask.tools;
  if (ask.tools.length > 0 && ask.tool_choice !== null) body.tool_choice = ask.tool_choice;
  if (ask.temperature !== null) body.temperature = ask.temperature;
  // gateway.endpoints.chat_completions.top_p: 0 is the most likely token only; vLLM refuses it.
  if (ask.top_p === 0) body.temperature = 0;
  else if (ask.top_p !== null) body.top_p = ask.top_p;
  if (ask.presence_penalty !== null) body.presence_penalty = ask.presence_penalty;
  if (ask.frequency_penalty !== null) body.frequency_penalty = ask.frequency_penalty;
  if (ask.seed !== null) body.seed = ask.seed;
  if (ask.stop.length > 0) body.stop = ask.stop;
  if (ask.stream) {
    body.stream = true;
    // Usage is always asked for: who pays must not depend on what the caller wants to see.
    body.stream_options = { include_usage: true };
  }
  return JSON.stringify(body);
}

/** llama-cpp-python refuses null; vLLM, SGLang and llama.cpp make an empty text of it. */
function writeMessage(message: Message): Message {
  return message.content === null ? { ...message, content: "" } : message;
}
