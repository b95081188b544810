// The schemas of messages in Anthropic's dialect: their blocks of content, tools and choices.
import { type Static, Type } from "@sinclair/typebox";
import { named } from "../../http/index.ts";
import { always, maybe, oneOf } from "../../platform/schema.ts";
import { FunctionName } from "../chat/message.ts";

/** Further keys are ignored, such as `cache_control` and `citations`. */
const TextBlock = Type.Object(
  { type: always("text"), text: Type.String({ description: "The text." }) },
  { $id: "MessagesTextBlock", description: "A text." },
);

const ImageBlock = Type.Object(
  {
    type: always("image"),
    source: Type.Union(
      [
        Type.Object({
          type: always("base64"),
          media_type: oneOf(
            ["image/jpeg", "image/png", "image/gif", "image/webp"],
            "The image's format.",
          ),
          data: named(
            Type.String({
              pattern: "^[A-Za-z0-9+/]+={0,2}$",
              description: "Its bytes, in base64.",
            }),
            "base64",
          ),
        }),
        Type.Object({
          type: always("url"),
          url: Type.String({ description: "An address that the model server can reach." }),
        }),
      ],
      { description: "The image's bytes, or its address." },
    ),
  },
  { $id: "MessagesImageBlock", description: "An image, for a model with `vision`." },
);

const ToolUseBlock = Type.Object(
  {
    type: always("tool_use"),
    id: Type.String({ description: "The `tool_result` that answers it names this id." }),
    name: Type.String({ description: "The tool that is called." }),
    input: Type.Unknown({ description: "Its arguments: an object." }),
  },
  { $id: "MessagesToolUseBlock", description: "A call that the model asked for." },
);

const ToolResultBlock = Type.Object(
  {
    type: always("tool_result"),
    tool_use_id: Type.String({ description: "The id of the call being answered." }),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.Union([TextBlock, ImageBlock]))], {
        description: "What the call came to; omitted: nothing.",
      }),
    ),
    is_error: Type.Optional(
      Type.Boolean({ description: "true: the call failed, which the model is told." }),
    ),
  },
  { $id: "MessagesToolResultBlock", description: "What a call came to." },
);

const Thinking = (type: "thinking" | "redacted_thinking", $id: string) =>
  Type.Object(
    { type: always(type) },
    { $id, description: "What another model thought: taken, and not shown to this one." },
  );

const SystemText = Type.Union([Type.String(), Type.Array(TextBlock)], {
  description: "The text, or a list of its blocks, which are joined.",
});

/** One variant for each role, so that errors name the right field. */
const Message = Type.Union(
  [
    Type.Object(
      {
        role: always("user"),
        content: Type.Union(
          [Type.String(), Type.Array(Type.Union([TextBlock, ImageBlock, ToolResultBlock]))],
          { description: "A text, or blocks: texts, images and results of calls." },
        ),
      },
      { $id: "MessagesUserMessage", description: "What a person says, or what calls came to." },
    ),
    Type.Object(
      {
        role: always("assistant"),
        content: Type.Union(
          [
            Type.String(),
            Type.Array(
              Type.Union([
                TextBlock,
                ToolUseBlock,
                Thinking("thinking", "MessagesThinkingBlock"),
                Thinking("redacted_thinking", "MessagesRedactedThinkingBlock"),
              ]),
            ),
          ],
          { description: "A text, or blocks: texts, calls of tools, and thinking." },
        ),
      },
      { $id: "MessagesAssistantMessage", description: "What the model said and called." },
    ),
    Type.Object(
      { role: always("system"), content: SystemText },
      { $id: "MessagesSystemMessage", description: "What holds from here on." },
    ),
  ],
  { $id: "MessagesMessage" },
);

const Tool = Type.Object(
  {
    type: Type.Optional(
      maybe(
        named(
          Type.String({
            pattern: "^custom$",
            description: "`custom`, also if null or omitted; there are no tools of the server's.",
          }),
          '"custom", a tool that the caller runs',
        ),
      ),
    ),
    name: FunctionName,
    description: Type.Optional(
      Type.String({ description: "What it does, for the model to read." }),
    ),
    input_schema: Type.Object({}, { description: "JSON Schema of its arguments, an object's." }),
  },
  { $id: "MessagesTool", description: "A tool that the caller runs." },
);

const single = {
  disable_parallel_tool_use: Type.Optional(
    Type.Boolean({ description: "true: only the first call of a reply is returned." }),
  ),
};
const ToolChoice = Type.Union(
  [
    Type.Object({ type: always("auto"), ...single }),
    Type.Object({ type: always("any"), ...single }),
    Type.Object({ type: always("none") }),
    Type.Object({
      type: always("tool"),
      name: Type.String({ description: "One of `tools`." }),
      ...single,
    }),
  ],
  {
    description:
      "`auto`: the model decides (also if omitted); `any`: it calls one; `none`; or `tool`, by " +
      "its name.",
  },
);

/** The fields that a count of tokens needs, too. */
export const PROMPT_FIELDS = {
  model: Type.Optional(
    Type.String({
      description:
        "An id of GET /v1/models, or the alias of the default model; omitted: the default model.",
    }),
  ),
  system: Type.Optional(SystemText),
  messages: Type.Array(Message, {
    minItems: 1,
    description: "The conversation so far, at least one message.",
  }),
  tools: Type.Optional(
    Type.Array(Tool, {
      description: "Tools the model may call, if it has the capability `tools`. Empty: none.",
    }),
  ),
  tool_choice: Type.Optional(ToolChoice),
  thinking: Type.Optional(
    Type.Object(
      { type: Type.String({ description: "Only `enabled` has an effect." }) },
      {
        description:
          "`enabled`: the model reasons first, unseen, where it can and the key has the scope " +
          "`reasoning`; elsewhere it is ignored, which `x-wadi-ignored` tells.",
      },
    ),
  ),
};

export type MessagesMessage = Static<typeof Message>;
export type MessagesTool = Static<typeof Tool>;
export type MessagesToolChoice = Static<typeof ToolChoice>;

export const TOOL_RULES = {
  tool_choice({
    tool_choice,
    tools = [],
  }: {
    tool_choice?: MessagesToolChoice;
    tools?: MessagesTool[];
  }) {
    if (tool_choice?.type === "any" && tools.length === 0) return "needs `tools`";
    if (tool_choice?.type !== "tool") return null;
    const isKnown = tools.some(({ name }) => name === tool_choice.name);
    return isKnown ? null : "names a tool that is not in `tools`";
  },
};
