// The schemas of replies and events in Anthropic's dialect, and the JSON reply.
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import type { CompletionOk, TokenUsage } from "../../models/index.ts";
import { isDeeper, parseJson } from "../../platform/json.ts";
import { always, maybe, oneOf, Resource } from "../../platform/schema.ts";
import type { ReplyMessage } from "../chat/reply.ts";

const unused = () => Type.Null({ description: "Always null." });

const TextBlock = Type.Object(
  { type: always("text"), text: Type.String({ description: "The text." }), citations: unused() },
  { $id: "MessagesReplyText", description: "A text." },
);
const ToolUseBlock = Type.Object(
  {
    type: always("tool_use"),
    id: Type.String({ description: "The `tool_result` that answers it names this id." }),
    name: Type.String({ description: "The tool to call." }),
    input: Type.Unknown({
      description: "Its arguments, an object; a text if the model wrote no JSON.",
    }),
    caller: Type.Object(
      { type: always("direct") },
      { description: "Who calls: always the model." },
    ),
  },
  { $id: "MessagesReplyToolUse", description: "A call of a tool." },
);
const Block = Type.Union([TextBlock, ToolUseBlock]);

const StopReason = oneOf(
  ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"],
  "`end_turn`: a normal end; `stop_sequence`: at one of `stop_sequences`, if the model server " +
    "tells, else `end_turn`; `max_tokens`; `tool_use`: the model calls tools; `refusal`: the " +
    "model server filtered the reply.",
);
type StopReason = Static<typeof StopReason>;

const COUNTED = {
  input_tokens: Type.Integer({ description: "Tokens of the messages and tools, all of them." }),
  output_tokens: Type.Integer({ description: "Tokens of the reply." }),
  cache_creation_input_tokens: Type.Integer({ description: "Always 0." }),
  cache_read_input_tokens: Type.Integer({ description: "Always 0: `input_tokens` has them." }),
  output_tokens_details: unused(),
  server_tool_use: unused(),
};
const StopSequence = maybe(
  Type.String({ description: "The string at which it ended, with `stop_sequence`. Null: none." }),
);

const Usage = Type.Object(
  {
    ...COUNTED,
    cache_creation: unused(),
    inference_geo: unused(),
    service_tier: unused(),
    speed: unused(),
  },
  { $id: "MessagesUsage", description: "What was used, in tokens." },
);

export const MessagesReply = Resource(
  "MessagesReply",
  {
    id: Type.String({ description: "Identifier of the reply." }),
    type: always("message"),
    role: always("assistant"),
    model: Type.String({ description: "Always the alias, whatever was requested." }),
    content: Type.Array(Block, { description: "A text, calls of tools, or both." }),
    stop_reason: maybe(StopReason),
    stop_sequence: StopSequence,
    stop_details: unused(),
    container: unused(),
    diagnostics: unused(),
    usage: Usage,
  },
  "A message of the model.",
);
type MessagesReply = Static<typeof MessagesReply>;

const Index = Type.Integer({ description: "Index of the block in `content`, from 0." });
const event = <const T extends string, P extends TProperties>(
  type: T,
  fields: P,
  $id: string,
  description: string,
) => Type.Object({ type: always(type), ...fields }, { $id, description });

/** Each event is also named in the line `event:` of its frame. */
export const MessageEvent = Type.Union(
  [
    event(
      "message_start",
      { message: MessagesReply },
      "MessageStart",
      "The first event: a message without content, whose `usage` is an estimate.",
    ),
    event(
      "content_block_start",
      { index: Index, content_block: Block },
      "ContentBlockStart",
      "A block begins, empty.",
    ),
    event(
      "content_block_delta",
      {
        index: Index,
        delta: Type.Union(
          [
            Type.Object({
              type: always("text_delta"),
              text: Type.String({ description: "The next piece of the text." }),
            }),
            Type.Object({
              type: always("input_json_delta"),
              partial_json: Type.String({ description: "The next piece of the JSON text." }),
            }),
          ],
          { description: "What is new." },
        ),
      },
      "ContentBlockDelta",
      "A piece of the block.",
    ),
    event("content_block_stop", { index: Index }, "ContentBlockStop", "The block is whole."),
    event(
      "message_delta",
      {
        delta: Type.Object(
          {
            stop_reason: StopReason,
            stop_sequence: StopSequence,
            stop_details: unused(),
            container: unused(),
          },
          { description: "Why the reply ends." },
        ),
        usage: Type.Object(COUNTED, { description: "What the whole reply used, in tokens." }),
      },
      "MessageDelta",
      "The end of the reply, with what it used.",
    ),
    event("message_stop", {}, "MessageStop", "The last event of a whole reply."),
    event("ping", {}, "Ping", "Sent every 15 seconds while nothing else is."),
    event(
      "error",
      {
        error: Type.Object(
          {
            type: Type.String({ description: "Kind of the error in this dialect." }),
            message: Type.String({ description: "What went wrong." }),
            code: Type.String({ description: "Code of the error, the same as in other routes." }),
          },
          { description: "Why the reply breaks off." },
        ),
        request_id: Type.String({ description: "The `request-id` of the reply." }),
      },
      "MessageError",
      "The last event of a reply that broke off.",
    ),
  ],
  { $id: "MessageEvent" },
);
export type MessageEvent = Static<typeof MessageEvent>;

export const TokenCount = Resource("TokenCount", {
  input_tokens: Type.Integer({ description: "Tokens of the system prompt, messages and tools." }),
});

type MessageEnd = Pick<CompletionOk, "finishReason" | "stopSequence">;

/** Maximum levels of an input, so that a caller can send it back. */
const INPUT_DEPTH_MAX = 32;

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
};

export function describeEnd({ finishReason, stopSequence }: MessageEnd) {
  const isStopped = finishReason === "stop" && stopSequence !== undefined;
  const stop_reason: StopReason = isStopped
    ? "stop_sequence"
    : (STOP_REASONS[finishReason] ?? "end_turn");
  return {
    stop_reason,
    stop_sequence: isStopped ? stopSequence : null,
    ...{ stop_details: null, container: null },
  };
}

export function countedUsage({ prompt_tokens, completion_tokens }: TokenUsage) {
  return {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens_details: null,
    server_tool_use: null,
  };
}

/** Without an end it is the beginning of a stream. */
export function writeMessage(
  { id, model }: { id: string; model: string },
  content: MessagesReply["content"],
  end: MessageEnd | null,
  usage: TokenUsage,
): MessagesReply {
  return {
    ...{ id, type: "message", role: "assistant", model, content },
    ...(end ? describeEnd(end) : NO_END),
    diagnostics: null,
    usage: {
      ...countedUsage(usage),
      ...{ cache_creation: null, inference_geo: null, service_tier: null, speed: null },
    },
  };
}

const NO_END = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };

export function writeMessageReply(
  names: { id: string; model: string },
  { content, tool_calls = [] }: ReplyMessage,
  completion: CompletionOk,
): MessagesReply {
  const blocks: MessagesReply["content"] = content ? [openText(content)] : [];
  for (const { id, function: called } of tool_calls) {
    blocks.push({ ...openCall(id, called.name), input: readInput(called.arguments) });
  }
  return writeMessage(names, blocks, completion, completion.usage);
}

/** A text in place of an object fails every check; `{}` could run without its arguments. */
function readInput(text: string): unknown {
  const value = parseJson(text) ?? text;
  return isDeeper(value, INPUT_DEPTH_MAX) ? text : value;
}

export function openText(text: string): Static<typeof TextBlock> {
  return { type: "text", text, citations: null };
}

export function openCall(id: string, name: string): Static<typeof ToolUseBlock> {
  return { type: "tool_use", id, name, input: {}, caller: { type: "direct" } };
}
