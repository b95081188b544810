// Translates a request for a response into a chat, and the field of an error back.
import { type ApiError, apiError } from "../../platform/errors.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { InputItem } from "./items.ts";
import { type FunctionTool, isFunctionTool, type ResponsesRequest } from "./request.ts";

type TranslatedMessage = ChatRequest["messages"][number];
type ItemContent = Extract<InputItem, { content: unknown }>["content"];
type Part = Exclude<ItemContent, string>[number];

export interface TranslatedChat {
  /** `response_format` is an unlisted field of a chat. */
  body: ChatRequest & { response_format?: object };
  /** Place of each message in the request, such as `input.2`. */
  places: readonly string[];
}

export function translateRequest(sent: ResponsesRequest): TranslatedChat {
  const tools = chooseTools(sent);
  const { messages, places } = translateInput(sent);
  const effort = sent.reasoning?.effort ?? "none";
  const format = sent.text?.format;
  const body = omitNulls({
    model: sent.model,
    messages,
    tools: tools.map(translateTool),
    tool_choice: translateToolChoice(sent.tool_choice),
    temperature: sent.temperature,
    top_p: sent.top_p,
    presence_penalty: sent.presence_penalty,
    frequency_penalty: sent.frequency_penalty,
    max_tokens: sent.max_output_tokens,
    stream: sent.stream,
    user: sent.safety_identifier ?? sent.user,
    reasoning: effort !== "none" && effort !== "minimal",
    response_format: format && translateFormat(format),
  });
  return { body: body as TranslatedChat["body"], places };
}

/** Names the field of this request that an error about the chat is about. */
export function translateParam(param: string, places: readonly string[]): string {
  if (param === "messages") return "input";
  if (param === "reasoning") return "reasoning.effort";
  const [, index, rest] = /^messages\.(\d+)(.*)$/.exec(param) ?? [];
  return index === undefined ? param : `${places[Number(index)] ?? "input"}${rest}`;
}

function refuse(param: string, message: string): ApiError {
  return apiError("validation", { param, message });
}

/** The functions that the model is shown. */
function chooseTools({ tools, tool_choice }: ResponsesRequest): FunctionTool[] {
  const functions = (tools ?? []).map((tool, at) => {
    if (isFunctionTool(tool)) return tool;
    const place = `tools.${at}.type`;
    throw refuse(place, `This server hosts no tools: \`${place}\` must be "function".`);
  });
  if (typeof tool_choice !== "object" || tool_choice?.type !== "allowed_tools") return functions;
  const names = new Set(tool_choice.tools.map(({ name }) => name));
  return functions.filter(({ name }) => names.has(name));
}

function translateTool({ name, description, parameters }: FunctionTool) {
  return { type: "function" as const, function: { name, description, parameters } };
}

function translateToolChoice(sent: ResponsesRequest["tool_choice"]): ChatRequest["tool_choice"] {
  if (typeof sent !== "object" || sent === null) return sent ?? undefined;
  if (sent.type === "allowed_tools") return sent.mode ?? "auto";
  return { type: "function", function: { name: sent.name } };
}

type WantedFormat = NonNullable<NonNullable<ResponsesRequest["text"]>["format"]>;

function translateFormat(format: WantedFormat): object {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, schema, strict } = format;
  return { type: "json_schema", json_schema: { name, schema, strict } };
}

function translateInput({ input, instructions }: ResponsesRequest) {
  const messages: TranslatedMessage[] = [];
  const places: string[] = [];
  const add = (message: TranslatedMessage, place: string) => {
    messages.push(message);
    places.push(place);
  };
  if (instructions) add({ role: "system", content: instructions }, "instructions");
  if (typeof input === "string") add({ role: "user", content: input }, "input");
  else {
    input.forEach((item, at) => {
      const last = messages.at(-1);
      const message = translateItem(item, last, `input.${at}`);
      if (message) add(message, `input.${at}`);
    });
  }
  // A conversation of ignored items alone has no message.
  if (messages.length === 0) throw refuse("input", "`input` must have a message.");
  return { messages, places };
}

/** Returns null for an item that adds no message: it is ignored or part of the `last` one. */
function translateItem(
  item: InputItem,
  last: TranslatedMessage | undefined,
  place: string,
): TranslatedMessage | null {
  if ("role" in item) return translateMessage(item, last);
  switch (item.type) {
    case "function_call": {
      const { call_id: id, name, arguments: text } = item;
      const call = { id, type: "function" as const, function: { name, arguments: text } };
      // The text and the calls of one reply are one message of a chat.
      if (last?.role !== "assistant")
        return { role: "assistant", content: null, tool_calls: [call] };
      last.tool_calls ??= [];
      last.tool_calls.push(call);
      return null;
    }
    case "function_call_output": {
      const content = translateContent(item.output);
      return { role: "tool", content, tool_call_id: item.call_id } as TranslatedMessage;
    }
    case "item_reference":
      throw refuse(
        `${place}.type`,
        "No items are kept here: send the item itself in place of its reference (clients do so " +
          "with `store: false`).",
      );
    default:
      return null;
  }
}

type MessageItem = Extract<InputItem, { role: string }>;

function translateMessage({ role, content }: MessageItem, last: TranslatedMessage | undefined) {
  const translated = translateContent(content);
  if (role !== "system" && role !== "developer")
    return { role, content: translated } as TranslatedMessage;
  // Some chat templates take one system message only.
  if (last?.role !== "system") return { role: "system", content: translated } as TranslatedMessage;
  last.content = `${joinTexts(last.content)}\n\n${joinTexts(translated as string)}`;
  return null;
}

const joinTexts = (content: TranslatedMessage["content"]) =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => (part as { text: string }).text).join("");

function translateContent(content: ItemContent): string | object[] {
  return typeof content === "string" ? content : content.map(translatePart);
}

function translatePart(part: Part): object {
  switch (part.type) {
    case "input_image": {
      const { image_url: url, detail } = part;
      return { type: "image_url", image_url: detail ? { url, detail } : { url } };
    }
    case "refusal":
      return { type: "text", text: part.refusal };
    default:
      return { type: "text", text: part.text };
  }
}

function omitNulls(fields: Record<string, unknown>): object {
  const sent = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(sent);
}
