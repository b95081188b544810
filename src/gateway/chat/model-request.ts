// Builds the request to a model server: listed fields only, within the token budget.
import { accountOf } from "../../access/index.ts";
import {
  type ContentPart,
  chooseOutputCap,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
  type ServedModel,
  type ToolChoice,
} from "../../models/index.ts";
import type { GatewayRecorder, InternalCaller } from "../request-log/recorder.ts";
import type { ChatRequest } from "./request.ts";
import { readResponseFormat } from "./unlisted-fields.ts";

type SentMessage = ChatRequest["messages"][number];
type SentTool = NonNullable<ChatRequest["tools"]>[number];

export type ModelRequestInput = Pick<
  ModelRequest,
  "messages" | "tools" | "temperature" | "top_p" | "reasoning"
> &
  Partial<Omit<ModelRequest, "request_id" | "trace" | "account" | "max_tokens">> & {
    max_tokens: number | null;
  };

type CapNotes = Pick<GatewayRecorder, "setOutputCap">;

export function buildModelRequest(
  input: ModelRequestInput,
  { settings }: ServedModel,
  { caller, request_id, trace, recorder }: InternalCaller & { recorder: CapNotes },
): ModelRequest {
  // gateway.endpoints.chat_completions.6
  const cap = chooseOutputCap(settings, caller.max_output_tokens, input.max_tokens);
  recorder.setOutputCap(input.max_tokens, cap);
  return {
    request_id,
    trace,
    account: accountOf(caller),
    messages: addSystemPrompt(input.messages, settings.system_prompt),
    max_tokens: cap.max_tokens,
    tools: input.tools,
    tool_choice: input.tool_choice ?? null,
    temperature: input.temperature,
    top_p: input.top_p,
    presence_penalty: input.presence_penalty ?? null,
    frequency_penalty: input.frequency_penalty ?? (settings.frequency_penalty || null),
    seed: input.seed ?? null,
    stop: input.stop ?? [],
    response_format: input.response_format ?? null,
    reasoning: input.reasoning,
    stream: input.stream ?? false,
  };
}

/** gateway.resources.message.p1: a conversation's own system message goes first. */
function addSystemPrompt(messages: ModelMessage[], system_prompt: string): ModelMessage[] {
  if (!system_prompt || messages.some(({ role }) => role === "system")) return messages;
  return [{ role: "system", content: system_prompt }, ...messages];
}

/** gateway.endpoints.chat_completions.user: `user` is not sent to the model. */
export function readRequestInput(
  body: ChatRequest,
  { settings: { capabilities } }: ServedModel,
): ModelRequestInput {
  return {
    messages: body.messages.map(writeMessage),
    max_tokens: body.max_tokens ?? null,
    tools: (body.tools ?? []).map(writeTool),
    tool_choice: writeToolChoice(body.tool_choice),
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    presence_penalty: body.presence_penalty ?? null,
    frequency_penalty: body.frequency_penalty ?? null,
    seed: writeSeed(body.seed),
    stop: writeStop(body.stop),
    response_format: capabilities.includes("structured_outputs")
      ? readResponseFormat(Reflect.get(body, "response_format"))
      : null,
    reasoning: body.reasoning === true,
    // Without `streaming` the caller gets the whole reply as one chunk.
    stream: body.stream === true && capabilities.includes("streaming"),
  };
}

function writeMessage(sent: SentMessage): ModelMessage {
  const { role } = sent;
  const content = writeContent(sent.content);
  if (role === "tool") return { role, content, tool_call_id: sent.tool_call_id };
  if (role !== "assistant" || !sent.tool_calls?.length) return { role, content };
  const tool_calls = sent.tool_calls.map(({ id, type, function: { name, arguments: text } }) => {
    return { id, type, function: { name, arguments: text } };
  });
  return { role, content, tool_calls };
}

/** Text parts are joined, since some models take only text; a list with images stays one. */
function writeContent(sent: SentMessage["content"]): ModelMessage["content"] {
  if (!Array.isArray(sent)) return sent ?? null;
  const parts = sent.map((part): ContentPart => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { url, detail } = part.image_url;
    return { type: "image_url", image_url: detail === undefined ? { url } : { url, detail } };
  });
  if (parts.some((part) => part.type !== "text")) return parts;
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function writeTool({ function: { name, description, parameters } }: SentTool): ModelTool {
  const written: ModelTool = { type: "function", function: { name } };
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

/** Servers refuse seeds beyond 53 bits: a fixed other number replaces them. */
function writeSeed(sent: ChatRequest["seed"]): number | null {
  if (sent === undefined || sent === null) return null;
  return Number.isSafeInteger(sent) ? sent : sent % Number.MAX_SAFE_INTEGER;
}
