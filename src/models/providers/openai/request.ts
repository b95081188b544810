// Writes requests to a chat-completions server: address, headers and body.
import { repairJson, writeJson } from "../../../platform/json.ts";
import type { ModelMessage, ModelRequest, ToolCall } from "../contract.ts";

export function rootOf(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** Headers of every request to a server; none comes from the caller. */
export function writeHeaders(
  upstream: { api_key: string | null; headers: Readonly<Record<string, string>> },
  kind: Readonly<Record<string, string>> = { "content-type": "application/json" },
): Record<string, string> {
  const headers: Record<string, string> = {
    ...kind,
    // Unpacking costs more than it saves here, and a small reply could become a huge one.
    "accept-encoding": "identity",
    "user-agent": "wadi",
  };
  // Lower case, so that the operator's headers replace ours.
  for (const [name, value] of Object.entries(upstream.headers)) headers[name.toLowerCase()] = value;
  if (upstream.api_key) headers.authorization = `Bearer ${upstream.api_key}`;
  return headers;
}

/** Pattern of our own ids, and of those that most proxies make. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Passes on a request's trace, and its id if it is a UUID. A caller may send any id, but
 * llama-cpp-python refuses others, and vLLM refuses the same id of two callers.
 */
export function writeRequestHeaders({
  request_id,
  trace,
}: Pick<ModelRequest, "request_id" | "trace">): Record<string, string> {
  const headers: Record<string, string> = { ...trace };
  if (UUID.test(request_id)) headers["x-request-id"] = request_id;
  return headers;
}

export interface RequestForm {
  model: string;
  reasoning_on: Readonly<Record<string, unknown>>;
  reasoning_off: Readonly<Record<string, unknown>>;
  tool_choice_by_name: boolean;
}

/**
 * Writes the standard fields that were asked for, over the server's own fields that turn
 * reasoning on or off (gateway.endpoints.chat_completions.reasoning).
 */
export function writeRequest(request: ModelRequest, form: RequestForm): string {
  const body: Record<string, unknown> = {
    ...(request.reasoning ? form.reasoning_on : form.reasoning_off),
    model: form.model,
    messages: request.messages.map(writeMessage),
    max_tokens: request.max_tokens,
    ...writeTools(request, form),
  };
  if (request.temperature !== null) body.temperature = request.temperature;
  // gateway.endpoints.chat_completions.top_p: 0 is the most likely token only; vLLM refuses it.
  if (request.top_p === 0) body.temperature = 0;
  else if (request.top_p !== null) body.top_p = request.top_p;
  if (request.presence_penalty !== null) body.presence_penalty = request.presence_penalty;
  if (request.frequency_penalty !== null) body.frequency_penalty = request.frequency_penalty;
  if (request.seed !== null) body.seed = request.seed;
  if (request.stop.length > 0) body.stop = request.stop;
  if (request.response_format !== null) body.response_format = request.response_format;
  if (request.stream) {
    body.stream = true;
    // Usage is always needed, whether or not the caller wants to see it.
    body.stream_options = { include_usage: true };
  }
  return writeJson(body);
}

function writeTools({ tools, tool_choice }: ModelRequest, { tool_choice_by_name }: RequestForm) {
  if (tools.length === 0) return {};
  if (tool_choice === null) return { tools };
  if (typeof tool_choice !== "object" || tool_choice_by_name) return { tools, tool_choice };
  // A server that ignores a choice by name gets no other tool to choose.
  const { name } = tool_choice.function;
  const chosen = tools.filter((tool) => tool.function.name === name);
  // A choice by name means one call; llama.cpp would let the model repeat it.
  return { tools: chosen, tool_choice: "required", parallel_tool_calls: false };
}

/** llama-cpp-python refuses null; vLLM, SGLang and llama.cpp make an empty text of it. */
function writeMessage(message: ModelMessage): ModelMessage {
  const { content, tool_calls } = message;
  if (!tool_calls) return content === null ? { ...message, content: "" } : message;
  return {
    ...message,
    content: content ?? "",
    tool_calls: tool_calls.map(writeCall),
  };
}

/** Chat templates parse the arguments of earlier calls, so these must be sound JSON. */
function writeCall(call: ToolCall): ToolCall {
  const { name, arguments: json } = call.function;
  return { ...call, function: { name, arguments: repairJson(json) } };
}
