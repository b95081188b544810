// The schemas of messages, their parts, tools and tool calls.
import { Type } from "@sinclair/typebox";
import { always, maybe } from "../../platform/schema.ts";

/** Further keys of parts, messages, tools and calls are ignored: popular clients send some. */
const TextPart = Type.Object(
  { type: always("text"), text: Type.String({ description: "The text." }) },
  { $id: "ChatTextPart", description: "A text." },
);
const ImagePart = Type.Object(
  {
    type: always("image_url"),
    image_url: Type.Object(
      {
        url: Type.String({
          description: "An address that the model server can reach, or `data:`.",
        }),
        detail: Type.Optional(
          Type.String({ description: "How closely to look; omitted: its own." }),
        ),
      },
      { description: "The image." },
    ),
  },
  { $id: "ChatImagePart", description: "An image, for a model with `vision`." },
);

/** gateway.resources.message.content */
const Text = Type.Union([Type.String(), Type.Array(TextPart)], {
  description: "The text, or a list of its parts.",
});
const TextOrImages = Type.Union([Type.String(), Type.Array(Type.Union([TextPart, ImagePart]))], {
  description: "The text, or a list of parts; `image_url` only for a model with `vision`.",
});

/**
 * gateway.resources.tool_call.p1, gateway.endpoints.chat_completions.8: replies carry it, and
 * callers send it back with the `tool` messages that answer it.
 */
export const ToolCall = Type.Object(
  {
    id: Type.String({ description: "The `tool` message that answers it names this id." }),
    type: always("function"),
    function: Type.Object(
      {
        name: Type.String({ description: "The function that is called." }),
        arguments: Type.String({ description: "JSON text, as the model wrote it." }),
      },
      { description: "What is called." },
    ),
  },
  { $id: "ToolCall" },
);

/** gateway.resources.message.tool_calls */
const ToolCalls = (bounds: { minItems?: number }, description: string) =>
  Type.Array(ToolCall, { ...bounds, description });

/** Listed fields have their type in every role, also where they are ignored. */
const unusedCalls = Type.Optional(maybe(ToolCalls({}, "Ignored: only an assistant calls tools.")));
const unusedId = Type.Optional(
  maybe(Type.String({ description: "Ignored: only a `tool` message answers a call." })),
);
const unused = { tool_calls: unusedCalls, tool_call_id: unusedId };

/** gateway.resources.message.role: one variant for each, so that errors name the right field. */
export const ChatMessage = Type.Union(
  [
    Type.Object(
      { role: always("system"), content: Text, ...unused },
      { $id: "ChatSystemMessage", description: "What holds for the whole conversation." },
    ),
    Type.Object(
      { role: always("user"), content: TextOrImages, ...unused },
      { $id: "ChatUserMessage", description: "What a person says." },
    ),
    Type.Object(
      {
        role: always("assistant"),
        content: Type.Optional(
          Type.Union([Text, Type.Null()], {
            description: "The same; null or omitted: the message only carries tool calls.",
          }),
        ),
        tool_calls: ToolCalls({ minItems: 1 }, "The calls that the model asked for."),
        tool_call_id: unusedId,
      },
      { $id: "ChatToolCallsMessage", description: "What the model asked to be called." },
    ),
    Type.Object(
      {
        role: always("assistant"),
        content: Text,
        tool_calls: Type.Optional(maybe(ToolCalls({}, "None. Null: none, too."))),
        tool_call_id: unusedId,
      },
      { $id: "ChatAssistantMessage", description: "What the model said." },
    ),
    Type.Object(
      {
        role: always("tool"),
        content: Text,
        /** gateway.resources.message.tool_call_id */
        tool_call_id: Type.String({ description: "The id of the call being answered." }),
        tool_calls: unusedCalls,
      },
      { $id: "ChatToolMessage", description: "What a call came to." },
    ),
  ],
  { $id: "ChatMessage" },
);

export const FunctionName = Type.String({
  pattern: "^[A-Za-z0-9_.-]{1,128}$",
  description: "1 to 128 of letters, digits, `_`, `.` and `-`.",
});

/** gateway.resources.tool.p1 */
export const Tool = Type.Object(
  {
    type: always("function"),
    function: Type.Object(
      {
        name: FunctionName,
        description: Type.Optional(
          maybe(Type.String({ description: "What it does, for the model to read." })),
        ),
        parameters: Type.Optional(
          maybe(Type.Object({}, { description: "JSON Schema of its arguments, an object's." })),
        ),
      },
      { description: "The function." },
    ),
  },
  { $id: "Tool" },
);
