// The body of POST /v1/responses: its fields, bounds and rules.
import { type Static, Type } from "@sinclair/typebox";
import { always, maybe, oneOf, withRules } from "../../platform/schema.ts";
import { FunctionName } from "../chat/message.ts";
import { USER_CHARACTERS_MAX } from "../chat/request.ts";
import { InputItem } from "./items.ts";

const METADATA_PAIRS_MAX = 16;
const METADATA_KEY_CHARACTERS_MAX = 64;
const METADATA_CHARACTERS_MAX = 512;

const optional = <S extends Parameters<typeof maybe>[0]>(schema: S) => Type.Optional(maybe(schema));

const FunctionTool = Type.Object(
  {
    type: always("function"),
    name: FunctionName,
    description: optional(Type.String({ description: "What it does, for the model. Null: none." })),
    parameters: optional(
      Type.Object({}, { description: "JSON Schema of its arguments, an object's. Null: none." }),
    ),
    strict: optional(Type.Boolean({ description: "Ignored." })),
  },
  { $id: "ResponsesFunctionTool", description: "A function that the model may call." },
);
const HostedTool = Type.Object(
  { type: Type.String({ pattern: "^(?!function$)", description: "Any other word." }) },
  { $id: "ResponsesHostedTool", description: "Refused: this server hosts no tools." },
);

const ChosenFunction = Type.Object(
  {
    type: always("function"),
    name: FunctionName,
  },
  { $id: "ResponsesChosenFunction", description: "One of `tools`, by its name." },
);
const MODES = ["auto", "none", "required"] as const;
const AllowedTools = Type.Object(
  {
    type: always("allowed_tools"),
    mode: optional(oneOf(MODES, "As `tool_choice` of these. Null: `auto`.")),
    tools: Type.Array(ChosenFunction, {
      minItems: 1,
      maxItems: 128,
      description: "Those of `tools` that the model is shown, 1 to 128.",
    }),
  },
  { $id: "ResponsesAllowedTools", description: "Some of `tools`." },
);
const ToolChoice = Type.Union(
  [
    Type.Literal("auto"),
    Type.Literal("none"),
    Type.Literal("required"),
    ChosenFunction,
    AllowedTools,
  ],
  {
    description:
      "`auto`: the model decides (also if null); `none`; `required`; one by its name; or some.",
  },
);

const TextFormat = Type.Union(
  [
    Type.Object(
      { type: always("text") },
      { $id: "ResponsesPlainFormat", description: "Any text." },
    ),
    Type.Object(
      { type: always("json_object") },
      { $id: "ResponsesObjectFormat", description: "A JSON object." },
    ),
    Type.Object(
      {
        type: always("json_schema"),
        name: Type.String({
          pattern: "^[A-Za-z0-9_-]{1,64}$",
          description: "1 to 64 of letters, digits, `_` and `-`.",
        }),
        schema: Type.Object({}, { description: "The JSON Schema." }),
        strict: optional(Type.Boolean({ description: "Passed on. Null: the server's own." })),
      },
      { $id: "ResponsesSchemaFormat", description: "JSON that follows a schema." },
    ),
  ],
  {
    description:
      "Form of the text. All but `text` are refused where the model lacks the capability " +
      "`structured_outputs`. Null: `text`.",
  },
);
const TextOptions = Type.Object(
  {
    format: optional(TextFormat),
    verbosity: optional(Type.String({ description: "Ignored." })),
  },
  { description: "Form of the text. Null: any." },
);
const Reasoning = Type.Object(
  {
    effort: optional(
      oneOf(
        ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
        "`low` and more: reason first, unseen, as `reasoning` of a chat; needs the scope " +
          "`reasoning`. Null, `none`, `minimal`: do not.",
      ),
    ),
    summary: optional(Type.String({ description: "Ignored: reasoning is not given back." })),
  },
  { description: "Reasoning before the answer. Null: none." },
);

const Penalty = (description: string) =>
  optional(Type.Number({ minimum: -2, maximum: 2, description }));
const User = (description: string) =>
  optional(Type.String({ maxLength: USER_CHARACTERS_MAX, description }));
const refused = (what: string) => optional(Type.Unknown({ description: `Refused: ${what}` }));

const Fields = Type.Object(
  {
    model: optional(
      Type.String({ description: "As in a chat; null or omitted: the default model." }),
    ),
    input: Type.Union([Type.String(), Type.Array(InputItem, { minItems: 1 })], {
      description: "What a person says, or the whole conversation so far as items, at least one.",
    }),
    instructions: optional(
      Type.String({ description: "A system message before all items. Null: none." }),
    ),
    tools: optional(
      Type.Array(Type.Union([FunctionTool, HostedTool]), {
        description: "Functions the model may call, if it has the capability `tools`. Null: none.",
      }),
    ),
    tool_choice: optional(ToolChoice),
    parallel_tool_calls: optional(
      Type.Boolean({ description: "false: at most one call in a response. Null: true." }),
    ),
    temperature: optional(
      Type.Number({
        minimum: 0,
        maximum: 2,
        description: "Randomness of sampling, 0 to 2. Null: the model server's own.",
      }),
    ),
    top_p: optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "Share of likely tokens to draw from, 0 to 1. Null: the server's.",
      }),
    ),
    presence_penalty: Penalty("As in a chat, -2 to 2. Null: the model server's own."),
    frequency_penalty: Penalty("As in a chat, -2 to 2. Null: the model's."),
    max_output_tokens: optional(
      Type.Integer({
        minimum: 1,
        description: "`max_tokens` of a chat, from 1; may be lowered. Null: the default.",
      }),
    ),
    text: optional(TextOptions),
    reasoning: optional(Reasoning),
    stream: optional(
      Type.Boolean({ description: "true: server-sent events; false, null: one JSON response." }),
    ),
    store: optional(Type.Boolean({ description: "Answered `false`: nothing is kept." })),
    metadata: optional(
      Type.Object(
        {},
        {
          description:
            "Up to 16 texts of up to 512 characters, with names of up to 64; given back. " +
            "Null: none.",
        },
      ),
    ),
    safety_identifier: User("`user` of a chat, to 256 characters. Null: `user` counts."),
    user: User("`user` of a chat, to 256 characters. Null: none."),
    prompt_cache_key: optional(Type.String({ description: "Given back only." })),
    truncation: optional(oneOf(["auto", "disabled"], "Answered `disabled`: nothing is cut.")),
    background: optional(
      Type.Boolean({ description: "Refused if true: runs of agents outlast a connection." }),
    ),
    previous_response_id: optional(Type.String({ description: "Refused: no response is kept." })),
    conversation: refused("no conversation is kept."),
    prompt: refused("no prompt is kept."),
  },
  { $id: "ResponsesRequest" },
);

export type FunctionTool = Static<typeof FunctionTool>;

export function isFunctionTool(tool: { type: string }): tool is FunctionTool {
  return tool.type === "function";
}

const isSent = (value: unknown) => value !== undefined && value !== null;

/** Fields not listed are ignored, as in a chat. */
export const ResponsesRequest = withRules(Fields, {
  tool_choice({ tool_choice, tools }) {
    const names = new Set((tools ?? []).filter(isFunctionTool).map(({ name }) => name));
    if (tool_choice === "required" && names.size === 0) return "needs `tools`";
    if (typeof tool_choice !== "object" || tool_choice === null) return null;
    const chosen = tool_choice.type === "function" ? [tool_choice] : tool_choice.tools;
    const isKnown = chosen.every(({ name }) => names.has(name));
    return isKnown ? null : "names a function that is not in `tools`";
  },
  metadata({ metadata }) {
    const pairs = Object.entries(metadata ?? {});
    if (pairs.length > METADATA_PAIRS_MAX) return `may have ${METADATA_PAIRS_MAX} fields at most`;
    const fits = ([name, value]: [string, unknown]) =>
      name.length <= METADATA_KEY_CHARACTERS_MAX &&
      typeof value === "string" &&
      value.length <= METADATA_CHARACTERS_MAX;
    return pairs.every(fits)
      ? null
      : `may hold texts of up to ${METADATA_CHARACTERS_MAX} characters only, with names of up to ` +
          `${METADATA_KEY_CHARACTERS_MAX}`;
  },
  background: ({ background }) =>
    background ? "must be false: to outlast its connection, start a run of an agent" : null,
  previous_response_id: ({ previous_response_id: id }) =>
    isSent(id) ? "must be left out: no response is kept, so send all items in `input`" : null,
  conversation: ({ conversation }) =>
    isSent(conversation)
      ? "must be left out: no conversation is kept, so send all items in `input`"
      : null,
  prompt: ({ prompt }) =>
    isSent(prompt) ? "must be left out: no prompt is kept, so send it in `instructions`" : null,
});
export type ResponsesRequest = Static<typeof ResponsesRequest>;
