// The bodies of POST /v1/messages and /v1/messages/count_tokens: their fields, bounds and rules.
import { type Static, Type } from "@sinclair/typebox";
import { always, maybe, withRules } from "../../platform/schema.ts";
import { STOP_CHARACTERS_MAX, STOP_STRINGS_MAX, USER_CHARACTERS_MAX } from "../chat/request.ts";
import { PROMPT_FIELDS, TOOL_RULES } from "./content.ts";

const Metadata = Type.Object(
  {
    user_id: Type.Optional(
      maybe(
        Type.String({
          maxLength: USER_CHARACTERS_MAX,
          description:
            "Opaque hash of the end user, to 256 characters; not for the model. Null: none.",
        }),
      ),
    ),
  },
  { description: "About the request; only `user_id` is read." },
);

const OutputConfig = Type.Object(
  {
    format: Type.Optional(
      maybe(
        Type.Object(
          {
            type: always("json_schema"),
            schema: Type.Object({}, { description: "The JSON Schema of the text." }),
          },
          {
            description:
              "The form of the text, for a model with `structured_outputs`. Null: any text.",
          },
        ),
      ),
    ),
  },
  { description: "Only `format` is read." },
);

const Fields = Type.Object(
  {
    ...PROMPT_FIELDS,
    max_tokens: Type.Integer({
      minimum: 1,
      description: "Tokens of the reply, from 1; above `max_output_tokens`: lowered.",
    }),
    temperature: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 2,
        description: "Randomness of sampling, 0 to 2; omitted: the model server's own.",
      }),
    ),
    top_p: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "Share of likely tokens to draw from, 0 to 1; 0: the likeliest.",
      }),
    ),
    stop_sequences: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: STOP_CHARACTERS_MAX }), {
        maxItems: STOP_STRINGS_MAX,
        description: "Up to 4 strings of 1 to 256 characters; the reply ends before them.",
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({ description: "true: server-sent events; false or omitted: one JSON reply." }),
    ),
    metadata: Type.Optional(Metadata),
    output_config: Type.Optional(OutputConfig),
    container: Type.Optional(Type.Unknown({ description: "Refused unless null." })),
    thread: Type.Optional(Type.Unknown({ description: "Refused unless null." })),
    mcp_servers: Type.Optional(Type.Unknown({ description: "Refused unless null or empty." })),
  },
  { $id: "MessagesRequest" },
);

/** Other fields are ignored, as those of a chat are. */
export const MessagesRequest = withRules(Fields, {
  ...TOOL_RULES,
  container: ({ container }) =>
    isNone(container) ? null : "is not supported: this server runs no containers",
  thread: ({ thread }) =>
    isNone(thread) ? null : "is not supported: this server keeps no messages of this format",
  mcp_servers: ({ mcp_servers }) =>
    isNone(mcp_servers) ? null : "is not supported: no chat calls the tools of MCP servers",
});
export type MessagesRequest = Static<typeof MessagesRequest>;

export const CountTokensRequest = withRules(
  Type.Object(PROMPT_FIELDS, { $id: "CountTokensRequest" }),
  TOOL_RULES,
);
export type CountTokensRequest = Static<typeof CountTokensRequest>;

function isNone(value: unknown): boolean {
  return (value ?? null) === null || (Array.isArray(value) && value.length === 0);
}
