// From what is wanted, by a valid request or a round of a run, to what an upstream is asked: listed
// fields only, within the budget.
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

/** What is wanted of a model, in the models' own form; what is left out is as null or none. */
export type Wish = Pick<Ask, "messages" | "tools" | "temperature" | "top_p" | "reasoning"> &
  Partial<Omit<Ask, "request_id" | "trace" | "account" | "max_tokens">> & {
    /** null: the model's default. */
    max_tokens: number | null;
  };

type Asker = Pick<Applicant, "caller" | "request_id" | "trace">;

/** What a model is asked, whoever wants it: within the budget, with what its settings add. */
export function writeAsk(
  wish: Wish,
  { settings }: ServedModel,
  { caller, request_id, trace }: Asker,
): Ask {
  // gateway.endpoints.chat_completions.6
  const budget_max = capOutput(settings, caller.max_output_tokens);
  return {
    request_id,
    trace,
    account: accountOf(caller),
    messages: addSystemPrompt(wish.messages, settings.system_prompt),
    max_tokens: Math.min(wish.max_tokens ?? settings.default_max_tokens, budget_max),
    tools: wish.tools,
    tool_choice: wish.tool_choice ?? null,
    temperature: wish.temperature,
    top_p: wish.top_p,
    presence_penalty: wish.presence_penalty ?? null,
    frequency_penalty: wish.frequency_penalty ?? (settings.frequency_penalty || null),
    seed: wish.seed ?? null,
    stop: wish.stop ?? [],
    response_format: wish.response_format ?? null,
    reasoning: wish.reasoning,
    stream: wish.stream ?? false,
  };
}

/** gateway.resources.message.p1: the model's own, unless the conversation has one. */
function addSystemPrompt(messages: Message[], system_prompt: string): Message[] {
  if (!system_prompt || messages.some(({ role }) => role === "system")) return messages;
  return [{ role: "system", content: system_prompt }, ...messages];
}

/** `user` is not in it: it is not sent to the model (gateway.endpoints.chat_completions.user). */
export function readWish(body: ChatRequest, { settings: { capabilities } }: ServedModel): Wish {
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
    // A model that cannot stream is asked for the whole; the caller gets it as one content chunk.
    stream: body.stream === true && capabilities.includes("streaming"),
  };
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
