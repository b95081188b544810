// The schemas of chat replies and chunks, and the JSON reply.
import { type Static, Type } from "@sinclair/typebox";
import type { Chunk, CompletionOk, OnChunk } from "../../models/index.ts";
import { always, maybe, Resource } from "../../platform/schema.ts";
import { ToolCall } from "./message.ts";

/** gateway.endpoints.post_chat_completions: the default status. */
export const STATUS = 201;

/** gateway.resources.usage.p1 */
const Usage = {
  ...Resource("Usage", {
    prompt_tokens: Type.Integer({ description: "Tokens of the messages and tools." }),
    completion_tokens: Type.Integer({ description: "Tokens of the reply." }),
    total_tokens: Type.Integer({ description: "Both together." }),
  }),
  description: "What was used, in tokens.",
};

/** gateway.resources.reply.p3 */
const FinishReason = Type.String({
  description:
    "`stop`: a normal end; `tool_calls`: the model calls functions; `length` and others.",
});

const ReplyMessage = Type.Object(
  {
    role: always("assistant"),
    content: maybe(Type.String({ description: "The text; null: there are only tool calls." })),
    tool_calls: Type.Optional(
      Type.Array(ToolCall, { description: "The calls to answer; left out: none." }),
    ),
  },
  { $id: "ChatReplyMessage", description: "What the model says." },
);

/** gateway.resources.reply.p1 */
export const ChatReply = Resource("ChatReply", {
  id: Type.String({ description: "Identifier of the reply." }),
  object: always("chat.completion"),
  created: Type.Integer({ description: "Unix seconds of the reply." }),
  model: Type.String({ description: "Always the alias, whatever was requested." }),
  choices: Type.Array(
    Type.Object(
      {
        index: Type.Integer({ description: "Always 0." }),
        message: ReplyMessage,
        finish_reason: FinishReason,
      },
      { $id: "ChatChoice", description: "The reply's message." },
    ),
    { description: "Exactly one." },
  ),
  usage: Usage,
});

const CallPiece = Type.Object(
  {
    index: Type.Integer({ description: "Pieces with the same index are one call." }),
    id: Type.Optional(Type.String({ description: "In a call's first piece." })),
    type: Type.Optional(Type.Literal("function", { description: "In a call's first piece." })),
    function: Type.Object(
      {
        name: Type.Optional(Type.String({ description: "In a call's first piece." })),
        arguments: Type.String({ description: "The next piece of the JSON text." }),
      },
      { description: "What is called." },
    ),
  },
  { $id: "ChatToolCallPiece", description: "A piece of a call; its index says of which." },
);

/** gateway.resources.chunk.p1 */
export const ChatChunk = Type.Object(
  {
    id: Type.String({ description: "The same in every chunk of a stream." }),
    object: Type.Literal("chat.completion.chunk", { description: "Always the same." }),
    created: Type.Integer({ description: "Unix seconds of the stream's start." }),
    model: Type.String({ description: "Always the alias." }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer({ description: "Always 0." }),
        delta: Type.Object(
          {
            role: Type.Optional(Type.Literal("assistant", { description: "In the first delta." })),
            content: Type.Optional(Type.String({ description: "The next piece of text." })),
            tool_calls: Type.Optional(
              Type.Array(CallPiece, { description: "The next piece of one call." }),
            ),
          },
          { $id: "ChatDelta", description: "What is new; empty beside the reason." },
        ),
        finish_reason: maybe(FinishReason),
      }),
      { description: "One; none on the chunk that carries the usage." },
    ),
    usage: Type.Optional(Usage),
  },
  { $id: "ChatChunk" },
);

export type ReplyMessage = Static<typeof ReplyMessage>;
type Call = Static<typeof ToolCall>;

/** A reply as far as it is written. */
export interface PartialReply {
  text: string;
  tool_calls: readonly Call[];
  /** Number of pieces that it was joined from. */
  pieces: number;
}

interface MessageCollector {
  onChunk: OnChunk;
  read(): PartialReply;
  write(): ReplyMessage;
}

export function createMessageCollector(): MessageCollector {
  let content = "";
  let pieces = 0;
  const tool_calls: Call[] = [];
  return {
    read: () => ({ text: content, tool_calls, pieces }),
    onChunk(piece: Chunk) {
      pieces += 1;
      if (piece.kind === "text") {
        content += piece.text;
        return;
      }
      const { index, id = "", name = "", arguments: text } = piece;
      tool_calls[index] ??= { id, type: "function", function: { name, arguments: "" } };
      tool_calls[index].function.arguments += text;
    },
    write() {
      // Two chunks may hold the halves of a surrogate pair.
      const text = content.toWellFormed();
      if (tool_calls.length === 0) return { role: "assistant", content: text };
      // gateway.resources.tool_call.p1: empty arguments become JSON text.
      for (const { function: called } of tool_calls) {
        called.arguments = called.arguments.toWellFormed() || "{}";
      }
      return { role: "assistant", content: text || null, tool_calls };
    },
  };
}

export function writeChatReply(
  { id, created, model }: { id: string; created: number; model: string },
  message: ReplyMessage,
  { finishReason, usage }: Pick<CompletionOk, "finishReason" | "usage">,
): Static<typeof ChatReply> {
  const choices = [{ index: 0, message, finish_reason: finishReason }];
  return { id, object: "chat.completion", created, model, choices, usage };
}
