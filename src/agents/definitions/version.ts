// A version: the immutable snapshot of an agent's behaviour, and how a new one inherits.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, Resource, Timestamp } from "../../platform/schema.ts";

/** Beyond it a bound is none, and a number might not be kept as it was sent. */
export const COUNT_MAX = 2_147_483_647;

/** agents.resources.policy */
export const Policy = Type.Object(
  {
    approval_ttl_seconds: Type.Integer({
      description: "Seconds after which a pending approval times out.",
      minimum: 60,
      maximum: 2_592_000,
      default: 86_400,
    }),
    unattended_writes: Type.Boolean({
      description: "true: tools of risk `write` run without approval.",
      default: false,
    }),
    writes_after_external_content: Type.Union(
      [Type.Literal("require_approval"), Type.Literal("allow")],
      {
        description: "Whether writes need approval after content from outside was read.",
        default: "require_approval",
      },
    ),
    require_approval: Type.Array(Type.String({ description: "A tool's name.", maxLength: 64 }), {
      description: "Tools that always need approval, whatever their risk.",
      maxItems: 128,
      default: [],
    }),
    on_approval_expired: Type.Union([Type.Literal("continue"), Type.Literal("fail")], {
      description: "What the run does when an approval times out.",
      default: "continue",
    }),
    on_unknown_outcome: Type.Union([Type.Literal("ask"), Type.Literal("report")], {
      description:
        "When nobody knows whether a call was done: `ask` a person, or `report` it to the model.",
      default: "ask",
    }),
  },
  { description: "What may happen without a person." },
);
export type Policy = Static<typeof Policy>;

/** agents.resources.budgets; each that is exceeded ends the run as `budget_exceeded`. */
export const Budgets = Type.Object(
  {
    max_cost_sar: maybe(
      Type.String({
        description: "SAR, six places: checked before each round, priced part only; null: none.",
        pattern: "^[0-9]+\\.[0-9]{6}$",
      }),
    ),
    max_rounds: Type.Integer({
      description: "Model rounds of a run.",
      minimum: 1,
      maximum: 200,
      default: 25,
    }),
    max_tool_calls: maybe(
      Type.Integer({
        description: "Tool calls of a run; null: no such bound.",
        minimum: 0,
        maximum: COUNT_MAX,
      }),
    ),
    max_total_tokens: maybe(
      Type.Integer({
        description: "Tokens read and written; null: no such bound.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
    max_run_seconds: maybe(
      Type.Integer({
        description: "Seconds of work, waiting for approvals not counted; null: no such bound.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
  },
  { description: "Bounds of one run." },
);
export type Budgets = Static<typeof Budgets>;

export const ModelParams = Type.Object(
  {
    temperature: maybe(
      Type.Number({ description: "0 to 2; null: the model's own.", minimum: 0, maximum: 2 }),
    ),
    top_p: maybe(
      Type.Number({ description: "0 to 1; null: the model's own.", minimum: 0, maximum: 1 }),
    ),
    max_tokens: maybe(
      Type.Integer({
        description: "Tokens of one reply; null: the model's default.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
    reasoning: maybe(Type.Boolean({ description: "true: the model reasons first; null: no." })),
  },
  { description: "How the model is asked." },
);
export type ModelParams = Static<typeof ModelParams>;

export const ToolPin = Type.Object(
  {
    name: Type.String({ description: "The tool's name." }),
    revision: Type.Integer({ description: "From 1; pinned when the version was made." }),
    kind: Type.Union([Type.Literal("builtin"), Type.Literal("http")], { description: "Its kind." }),
    risk: Type.Union([Type.Literal("read"), Type.Literal("write"), Type.Literal("irreversible")], {
      description: "Its risk level.",
    }),
  },
  { description: "A tool as this version uses it." },
);
export type ToolPin = Static<typeof ToolPin>;

/** agents.does.version, agents.resources.version */
export const Version = Resource(
  "AgentVersion",
  {
    agent_id: Type.String({ format: "uuid", description: "Its agent." }),
    version: Type.Integer({ description: "From 1, per agent." }),
    system_prompt: Type.String({ description: "Stands before every conversation." }),
    model: Type.String({ description: "A model's id, or the alias of the default model." }),
    tools: Type.Array(Type.String({ description: "A tool's name." }), {
      description: "The tools that the model may call.",
    }),
    tool_revisions: Type.Array(ToolPin, { description: "The same tools, as they were then." }),
    policy: Policy,
    budgets: Budgets,
    model_params: ModelParams,
    created_at: Timestamp("When it was made."),
    created_by_key_id: maybe(Type.String({ description: "The key that made it; null: unknown." })),
  },
  "An immutable snapshot of an agent's behaviour.",
);
export type Version = Static<typeof Version>;

/**
 * As it is stored: null as its model is the default one, so that another alias or default breaks no
 * version.
 */
export const VersionRow = Type.Object({
  ...Version.properties,
  model: maybe(Type.String()),
});
export type VersionRow = Static<typeof VersionRow>;

export const DEFAULT_POLICY: Policy = {
  approval_ttl_seconds: 86_400,
  unattended_writes: false,
  writes_after_external_content: "require_approval",
  require_approval: [],
  on_approval_expired: "continue",
  on_unknown_outcome: "ask",
};
export const DEFAULT_BUDGETS: Budgets = {
  max_cost_sar: null,
  max_rounds: 25,
  max_tool_calls: null,
  max_total_tokens: null,
  max_run_seconds: null,
};
export const DEFAULT_MODEL_PARAMS: ModelParams = {
  temperature: null,
  top_p: null,
  max_tokens: null,
  reasoning: null,
};
