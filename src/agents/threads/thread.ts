// A thread: a conversation to which every run started on it adds messages.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../../platform/schema.ts";
import { MessagePart } from "./parts.ts";

/** agents.does.thread */
export const Thread = Resource(
  "Thread",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    agent_id: Type.String({ format: "uuid", description: "The agent it belongs to." }),
    title: maybe(Type.String({ description: "For people; null: none." })),
    status: oneOf(["idle", "busy"] as const, "`busy`: a run is in progress."),
    active_run_id: maybe(Type.String({ format: "uuid", description: "That run; null: none." })),
    message_count: Type.Integer({ description: "Messages in it." }),
    external_content: Type.Boolean({
      description: "true: content from outside the platform was read on it.",
    }),
    created_at: Timestamp("When its first run was started."),
    updated_at: Timestamp("When a message was last added."),
  },
  "A conversation to which every run that is started on it adds.",
);
export type Thread = Static<typeof Thread>;

export const ThreadRow = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  agent_id: Type.String(),
  title: maybe(Type.String()),
  external_content: Type.Boolean(),
  created_at: Timestamp("When its first run was started."),
});
export type ThreadRow = Static<typeof ThreadRow>;

export const ToolCallText = Type.Object(
  {
    id: Type.String({ description: "Unique for ever; made by the platform." }),
    name: Type.String({ description: "The tool that is called." }),
    arguments: Type.String({ description: "As the model wrote them, JSON if all is well." }),
  },
  { description: "A call that the model asked for." },
);
export type ToolCallText = Static<typeof ToolCallText>;

export const Message = Resource(
  "Message",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    thread_id: Type.String({ format: "uuid", description: "Its thread." }),
    run_id: Type.String({ format: "uuid", description: "The run that added it." }),
    seq: Type.Integer({ description: "From 1, per thread, without gaps." }),
    role: oneOf(["user", "assistant", "tool"] as const, "Who speaks."),
    content: maybe(Type.String({ description: "Text; null: only calls." })),
    parts: maybe(
      Type.Array(MessagePart, {
        description: "Of a message with images: its texts and images. null: it has none.",
      }),
    ),
    tool_calls: maybe(
      Type.Array(ToolCallText, { description: "Of an assistant; null: it called no tool." }),
    ),
    tool_call_id: maybe(
      Type.String({ description: "Of a tool message: the call it answers; null: of others." }),
    ),
    external: Type.Boolean({ description: "true: content from outside the platform." }),
    created_at: Timestamp("When it was added."),
  },
  "A message of a thread.",
);
export type Message = Static<typeof Message>;

/** A message that a run adds in its course; only those it starts with have parts. */
export type NewMessage = Omit<Message, "thread_id" | "run_id" | "seq" | "created_at" | "parts">;

export const MessageRow = Row(Message, {});
export type MessageRow = Static<typeof MessageRow>;
