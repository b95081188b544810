// The body of POST /v1/chat/completions: its fields, bounds and rules.
import { type Static, Type } from "@sinclair/typebox";
import { always, maybe, withRules } from "../../platform/schema.ts";
import { ChatMessage, FunctionName, Tool } from "./message.ts";

export const STOP_STRINGS_MAX = 4;
/** gateway.limits.stop */
export const STOP_CHARACTERS_MAX = 256;
/** gateway.limits.user */
export const USER_CHARACTERS_MAX = 256;

const Penalty = (description: string) =>
  maybe(Type.Number({ minimum: -2, maximum: 2, description }));

const Stop = Type.Union(
  [
    Type.String({ maxLength: STOP_CHARACTERS_MAX }),
    Type.Array(Type.String({ minLength: 1, maxLength: STOP_CHARACTERS_MAX }), {
      maxItems: STOP_STRINGS_MAX,
    }),
    Type.Null(),
  ],
  {
    description:
      "Up to 4 strings of 1 to 256 characters; the reply ends before them. Null, empty: none.",
  },
);

const StreamOptions = Type.Object(
  {
    include_usage: Type.Optional(
      Type.Boolean({ description: "true: the last chunk before `[DONE]` carries the usage." }),
    ),
  },
  { description: "Only with `stream` true. Null: none." },
);

const ToolChoice = Type.Union(
  [
    Type.Literal("auto"),
    Type.Literal("none"),
    Type.Literal("required"),
    Type.Object({
      type: always("function"),
      function: Type.Object(
        { name: FunctionName },
        { description: "One of `tools`, by its name." },
      ),
    }),
  ],
  {
    description:
      "`auto`: the model decides (also if omitted); `none`; `required`; or one by its name.",
  },
);

/**
 * gateway.endpoints.chat_completions.2: in fields with `maybe`, null means the same as leaving them
 * out; in others it is an error.
 * gateway.endpoints.chat_completions.3, gateway.versioning.4: unlisted fields are ignored.
 */
const Fields = Type.Object(
  {
    /** gateway.endpoints.chat_completions.model */
    model: Type.Optional(
      Type.String({
        description:
          "An id of GET /v1/models, or the alias of the default model; omitted: the default model.",
      }),
    ),
    /** gateway.endpoints.chat_completions.messages, gateway.limits.messages */
    messages: Type.Array(ChatMessage, {
      minItems: 1,
      description: "The conversation so far, at least one message.",
    }),
    /** gateway.endpoints.chat_completions.temperature */
    temperature: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 2,
        description: "Randomness of sampling, 0 to 2; omitted: the model server's own.",
      }),
    ),
    /** gateway.endpoints.chat_completions.top_p */
    top_p: Type.Optional(
      maybe(
        Type.Number({
          minimum: 0,
          maximum: 1,
          description:
            "Share of likely tokens to draw from, 0 to 1; 0: the likeliest. Null: the server's.",
        }),
      ),
    ),
    /** gateway.endpoints.chat_completions.max_tokens */
    max_tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "Tokens of the reply, from 1; above `max_output_tokens`: lowered; omitted: the default.",
      }),
    ),
    /** gateway.endpoints.chat_completions.presence_penalty */
    presence_penalty: Type.Optional(
      Penalty("Avoids tokens that occurred, -2 to 2. Null: the model server's own."),
    ),
    /** gateway.endpoints.chat_completions.frequency_penalty */
    frequency_penalty: Type.Optional(
      Penalty("Avoids tokens by how often they occurred, -2 to 2. Null: the model's."),
    ),
    /** gateway.endpoints.chat_completions.seed */
    seed: Type.Optional(
      maybe(
        Type.Integer({
          description: "Makes sampling repeatable, as far as the model server can. Null: none.",
        }),
      ),
    ),
    /** gateway.endpoints.chat_completions.stop */
    stop: Type.Optional(Stop),
    /** gateway.endpoints.chat_completions.stream */
    stream: Type.Optional(
      Type.Boolean({ description: "true: server-sent events; false or omitted: one JSON reply." }),
    ),
    /** gateway.endpoints.chat_completions.stream_options */
    stream_options: Type.Optional(maybe(StreamOptions)),
    /** gateway.endpoints.chat_completions.tools */
    tools: Type.Optional(
      Type.Array(Tool, {
        description:
          "Functions the model may call, if it has the capability `tools`; not with `think`. " +
          "Empty: none.",
      }),
    ),
    /** gateway.endpoints.chat_completions.tool_choice */
    tool_choice: Type.Optional(ToolChoice),
    /** gateway.endpoints.chat_completions.user */
    user: Type.Optional(
      maybe(
        Type.String({
          maxLength: USER_CHARACTERS_MAX,
          description:
            "Opaque hash of the end user, to 256 characters; not for the model. Null: none.",
        }),
      ),
    ),
    /** gateway.endpoints.chat_completions.reasoning */
    reasoning: Type.Optional(
      maybe(
        Type.Boolean({
          description: "true: reason first, unseen; needs the scope `reasoning`. Null: false.",
        }),
      ),
    ),
    /** gateway.endpoints.chat_completions.think */
    think: Type.Optional(
      maybe(
        Type.Boolean({
          description:
            "true: what several attempts agree on, all of them in `usage`; not with `tools`; " +
            "needs the scope `think`. Null: false.",
        }),
      ),
    ),
  },
  { $id: "ChatRequest" },
);

/** gateway.endpoints.chat_completions.3: rules for combined fields. */
export const ChatRequest = withRules(Fields, {
  stream_options: ({ stream_options, stream }) =>
    stream_options && stream !== true ? "needs `stream` to be true" : null,
  tool_choice: ({ tool_choice, tools = [] }) => {
    if (typeof tool_choice !== "object") {
      return tool_choice === "required" && tools.length === 0 ? "needs `tools`" : null;
    }
    const isKnown = tools.some((tool) => tool.function.name === tool_choice.function.name);
    return isKnown ? null : "names a function that is not in `tools`";
  },
  think: ({ think, tools }) => (think && tools?.length ? "cannot be combined with `tools`" : null),
});
export type ChatRequest = Static<typeof ChatRequest>;
