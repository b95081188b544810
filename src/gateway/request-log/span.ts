// The span of one request, by OpenTelemetry's conventions for generative AI.
import type { ModelMessage } from "../../models/index.ts";
import type { Span, SpanAttributes } from "../../platform/spans.ts";
import { shorten } from "../../platform/text.ts";
import type { LogEntry } from "./entry.ts";

/** Maximum messages of a span, the last ones, and characters of each of their texts. */
const MESSAGES_MAX = 32;
const TEXT_CHARACTERS_MAX = 4_096;

export interface RequestContent {
  input: readonly ModelMessage[];
  output: ModelMessage | null;
}

export function describeRequest(
  entry: LogEntry,
  content: RequestContent | null,
): Pick<Span, "name" | "kind" | "attributes" | "error" | "content"> {
  const { route, model, code, first_token_ms, waited_ms, finish_reason, run_id } = entry;
  const isInternal = run_id !== null;
  const http: SpanAttributes = isInternal
    ? {}
    : {
        "http.request.method": "POST",
        "http.route": "/v1/chat/completions",
        "http.response.status_code": entry.status,
      };
  return {
    name: model === null ? route : `${route} ${model}`,
    kind: isInternal ? "internal" : "server",
    attributes: {
      ...http,
      "gen_ai.operation.name": route,
      "gen_ai.request.model": model,
      "gen_ai.response.model": code === null ? model : null,
      "gen_ai.request.max_tokens": entry.max_tokens,
      "gen_ai.response.finish_reasons": finish_reason === null ? null : [finish_reason],
      "gen_ai.usage.input_tokens": entry.prompt_tokens,
      "gen_ai.usage.output_tokens": entry.completion_tokens,
      "wadi.request.id": entry.request_id,
      "wadi.request.is_stream": entry.is_stream,
      "wadi.attempts": entry.attempts,
      "wadi.wait.seconds": waited_ms === null ? null : waited_ms / 1000,
      "wadi.first_token.seconds": first_token_ms === null ? null : first_token_ms / 1000,
    },
    error: code,
    content: content ? writeContent(content) : undefined,
  };
}

function writeContent({ input, output }: RequestContent): Record<string, string> {
  const messages = input.slice(-MESSAGES_MAX).map(writeMessage);
  const written = { "gen_ai.input.messages": JSON.stringify(messages) };
  if (output === null) return written;
  return { ...written, "gen_ai.output.messages": JSON.stringify([writeMessage(output)]) };
}

function writeMessage({ role, content, tool_calls = [], tool_call_id }: ModelMessage) {
  const calls = tool_calls.map(({ id, function: { name, arguments: text } }) => {
    return { type: "tool_call", id, name, arguments: cut(text) };
  });
  const texts = typeof content === "string" ? [content] : (content ?? []);
  const parts = texts.map((part) => {
    if (typeof part !== "string" && part.type !== "text") return { type: "image" };
    const text = cut(typeof part === "string" ? part : part.text);
    if (tool_call_id === undefined) return { type: "text", content: text };
    return { type: "tool_call_response", id: tool_call_id, response: text };
  });
  return { role, parts: [...parts, ...calls] };
}

function cut(text: string): string {
  return shorten(text, TEXT_CHARACTERS_MAX);
}
