// Translates a request in Anthropic's dialect into a chat request.
import type { ChatRequest } from "../chat/request.ts";
import type { MessagesMessage, MessagesTool, MessagesToolChoice } from "./content.ts";
import type { CountTokensRequest, MessagesRequest } from "./request.ts";

type MessageOfChat = ChatRequest["messages"][number];
type CallsOfChat = Extract<MessageOfChat, { role: "assistant" }>["tool_calls"];
type MessagesBlock = Exclude<MessagesMessage["content"], string>[number];
type ImageSource = Extract<MessagesBlock, { type: "image" }>["source"];
type ResultBlock = Extract<MessagesBlock, { type: "tool_result" }>;
type ShownBlock = Extract<MessagesBlock, { type: "text" | "image" }>;

/** The name that a schema of the dialect, which has none, gets on the way to the model. */
const FORMAT_NAME = "output";

export function toChatRequest(sent: MessagesRequest, reasoning: boolean): ChatRequest {
  const { temperature, top_p, output_config } = sent;
  const format = output_config?.format;
  const json_schema = format && { name: FORMAT_NAME, schema: format.schema };
  return {
    ...toPrompt(sent),
    reasoning,
    max_tokens: sent.max_tokens,
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    stop: sent.stop_sequences ?? null,
    stream: sent.stream === true,
    user: sent.metadata?.user_id ?? null,
    // The pipeline reads it from the bodies of chats, which may carry it unlisted.
    ...(json_schema && { response_format: { type: "json_schema", json_schema } }),
  };
}

/** Translates all that the model reads, which a count of tokens needs. */
export function toPrompt(sent: CountTokensRequest): ChatRequest {
  const { model, system, messages, tools, tool_choice } = sent;
  const first: MessageOfChat[] = system?.length ? [{ role: "system", content: system }] : [];
  return {
    ...(model !== undefined && { model }),
    messages: [...first, ...messages.flatMap(toMessages)],
    tools: (tools ?? []).map(toTool),
    ...(tool_choice && { tool_choice: toChoice(tool_choice) }),
  };
}

/** The messages of the chat are others than those that were sent. */
export function toSentParam(param: string): string {
  return param.startsWith("messages.") ? "messages" : param;
}

function toMessages(sent: MessagesMessage): MessageOfChat[] {
  if (sent.role === "system") return [{ role: "system", content: sent.content }];
  const { role, content } = sent;
  if (role === "user") return typeof content === "string" ? [{ role, content }] : toUser(content);
  return [typeof content === "string" ? { role, content } : toAssistant(content)];
}

/** Drops thinking: only the model that wrote it can read it. */
function toAssistant(blocks: readonly MessagesBlock[]): MessageOfChat {
  const texts = blocks.flatMap((block) => (block.type === "text" ? block.text : []));
  const content = texts.join("");
  const tool_calls: NonNullable<CallsOfChat> = blocks.flatMap((block) => {
    if (block.type !== "tool_use") return [];
    const { id, name, input } = block;
    // Arguments that were no JSON came to the caller as a text.
    const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
    return { id, type: "function" as const, function: { name, arguments: text } };
  });
  if (tool_calls.length === 0) return { role: "assistant", content };
  return { role: "assistant", content: content || null, tool_calls };
}

/** Results stand right behind their calls, whatever stands before them in the message. */
function toUser(blocks: readonly MessagesBlock[]): MessageOfChat[] {
  const results: MessageOfChat[] = [];
  const shown: ShownBlock[] = [];
  for (const block of blocks) {
    if (block.type === "text" || block.type === "image") shown.push(block);
    if (block.type !== "tool_result") continue;
    results.push({ role: "tool", tool_call_id: block.tool_use_id, content: toResult(block) });
    // Most model servers take images from users only.
    const { content = [] } = block;
    if (typeof content !== "string") {
      shown.push(...content.filter(({ type }) => type === "image"));
    }
  }
  if (shown.length === 0 && results.length > 0) return results;
  return [...results, { role: "user", content: shown.map(toPart) }];
}

/** The format of chats has no mark for failures. */
function toResult({ content = "", is_error }: ResultBlock): string {
  const texts =
    typeof content === "string"
      ? [content]
      : content.flatMap((one) => (one.type === "text" ? one.text : []));
  return `${is_error === true ? "Error: " : ""}${texts.join("")}`;
}

function toPart(block: ShownBlock) {
  if (block.type === "text") return { type: "text" as const, text: block.text };
  return { type: "image_url" as const, image_url: { url: toUrl(block.source) } };
}

function toUrl(source: ImageSource): string {
  return source.type === "url" ? source.url : `data:${source.media_type};base64,${source.data}`;
}

function toTool({ name, description, input_schema }: MessagesTool) {
  const parameters = input_schema;
  return { type: "function" as const, function: { name, description, parameters } };
}

function toChoice(sent: MessagesToolChoice): NonNullable<ChatRequest["tool_choice"]> {
  if (sent.type === "tool") return { type: "function", function: { name: sent.name } };
  return sent.type === "any" ? "required" : sent.type;
}
