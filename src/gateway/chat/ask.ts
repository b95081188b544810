// From a valid request to what an upstream is asked: listed fields only, within the budget.
import { accountOf } from "../../access/index.ts";
import {
  type Ask,
  type ContentPart,
  capOutput,
  type Message,
  type ServedModel,
  type Tool,
  type ToolChoice,
} from "../../models/index.ts";
import type { Applicant } from "./admit.ts";
import type { ChatRequest } from "./request.ts";
import { readResponseFormat } from "./response-format.ts";

type Sent = ChatRequest["messages"][number];
type SentTool = NonNullable<ChatRequest["tools"]>[number];

/** `user` is not in it: it is not sent to the model (gateway.endpoints.chat_completions.user). */
export function writeAsk(
  body: ChatRequest,
  { settings }: ServedModel,
  { caller, request_id, trace }: Pick<Applicant, "caller" | "request_id" | "trace">,
): Ask {
  // gateway.endpoints.chat_completions.6
  const budget_max = capOutput(settings, caller.max_output_tokens);
  return {
    request_id,
    trace,
    account: accountOf(caller),
    messages: writeMessages(body.messages, settings.system_prompt),
    max_tokens: Math.min(body.max_tokens ?? settings.default_max_tokens, budget_max),
    tools: (body.tools ?? []).map(writeTool),
    tool_choice: writeToolChoice(body.tool_choice),
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    presence_penalty: body.presence_penalty ?? null,
    frequency_penalty: body.frequency_penalty ?? (settings.frequency_penalty || null),
    seed: writeSeed(body.seed),
    stop: writeStop(body.stop),
    response_format: settings.capabilities.includes("structured_outputs")
      ? readResponseFormat(Reflect.get(body, "response_format"))
      : null,
    reasoning: body.reasoning === true,
    // A model that cannot stream is asked for the whole; the caller gets it as one content chunk.
    stream: body.stream === true && settings.capabilities.includes("streaming"),
  };
}

function writeMessages(sent: Sent[], system_prompt: string): Message[] {
  const messages = sent.map(writeMessage);
  // gateway.resources.message.p1
  const hasSystem = messages.some((message) => message.role === "system");
  if (system_prompt && !hasSystem) messages.unshift({ role: "system", content: system_prompt });
  return messages;
}

function writeMessage(sent: Sent): Message {
  const { role } = sent;
  const content = writeContent(sent.content);
  if (role === "tool") return { role, content, tool_call_id: sent.tool_call_id };
  if (role !== "assistant" || !sent.tool_calls?.length) return { role, content };
  const tool_calls = sent.tool_calls.map(({ id, type, function: { name, arguments: text } }) => {
    return { id, type, function: { name, arguments: text } };
  });
  return { role, content, tool_calls };
}

/** Text parts are joined for models that want text; only with an image in it a list stays one. */
function writeContent(sent: Sent["content"]): Message["content"] {
  if (!Array.isArray(sent)) return sent ?? null;
  const parts = sent.map((part): ContentPart => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { url, detail } = part.image_url;
    return { type: "image_url", image_url: detail === undefined ? { url } : { url, detail } };
  });
  if (parts.some((part) => part.type !== "text")) return parts;
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function writeTool({ function: { name, description, parameters } }: SentTool): Tool {
  const written: Tool = { type: "function", function: { name } };
  if (description) written.function.description = description;
  if (parameters) written.function.parameters = parameters;
  return written;
}

function writeToolChoice(sent: ChatRequest["tool_choice"]): ToolChoice | null {
  if (typeof sent !== "object") return sent ?? null;
  return { type: "function", function: { name: sent.function.name } };
}

/** gateway.endpoints.chat_completions.2: an empty `stop` is none. */
function writeStop(sent: ChatRequest["stop"]): string[] {
  if (!sent) return [];
  return typeof sent === "string" ? [sent] : sent;
}

/** Beyond 53 bits servers refuse it: another number, always the same, stands in. */
function writeSeed(sent: ChatRequest["seed"]): number | null {
  if (sent === undefined || sent === null) return null;
  return Number.isSafeInteger(sent) ? sent : sent % Number.MAX_SAFE_INTEGER;
}
