// A version: an immutable snapshot of an agent's behaviour, which inherits from the one before.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";

/** Maximum of a count; larger numbers might not be stored exactly. */
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
      description: "Tools of risk `write` run without approval.",
      default: false,
    }),
    writes_after_external_content: {
      ...oneOf(
        ["require_approval", "allow"] as const,
        "Rule for writes after the run has read outside content.",
      ),
      default: "require_approval",
    },
    require_approval: Type.Array(Type.String({ description: "A tool's name.", maxLength: 64 }), {
      description: "Tools that always need approval, whatever their risk.",
      maxItems: 128,
      default: [],
    }),
    on_approval_expired: {
      ...oneOf(["continue", "fail"] as const, "What a run does when an approval times out."),
      default: "continue",
    },
    on_unknown_outcome: {
      ...oneOf(
        ["ask", "report"] as const,
        "For a call whose outcome is unknown: `ask` a person, or `report` it to the model.",
      ),
      default: "ask",
    },
  },
  { description: "Rules for calls that need a person's approval." },
);
export type Policy = Static<typeof Policy>;

/** agents.resources.budgets: exceeding one ends the run as `budget_exceeded`. */
export const Budgets = Type.Object(
  {
    max_cost_sar: maybe(
      Type.String({
        description: "SAR with six decimals, checked before each round; null for no limit.",
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
        description: "Tool calls of a run; null for no limit.",
        minimum: 0,
        maximum: COUNT_MAX,
      }),
    ),
    max_total_tokens: maybe(
      Type.Integer({
        description: "Tokens read and written; null for no limit.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
    max_run_seconds: maybe(
      Type.Integer({
        description: "Seconds of work without waiting for approvals; null for no limit.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
  },
  { description: "Limits of one run." },
);
export type Budgets = Static<typeof Budgets>;

export const ModelParams = Type.Object(
  {
    temperature: maybe(
      Type.Number({ description: "0 to 2; null for the model's own.", minimum: 0, maximum: 2 }),
    ),
    top_p: maybe(
      Type.Number({ description: "0 to 1; null for the model's own.", minimum: 0, maximum: 1 }),
    ),
    max_tokens: maybe(
      Type.Integer({
        description: "Maximum tokens of one reply; null for the model's default.",
        minimum: 1,
        maximum: COUNT_MAX,
      }),
    ),
    reasoning: maybe(Type.Boolean({ description: "Lets the model reason first." })),
  },
  { description: "Parameters of model calls." },
);
export type ModelParams = Static<typeof ModelParams>;

export const OutputSchema = Type.Unsafe<Record<string, unknown>>(
  Type.Object(
    {},
    {
      description:
        "The form of a run's output: JSON Schema 2020-12 of type object, at most 32 KB and 16 " +
        "levels deep, without remote `$ref`. The answer is parsed and checked as `output.data`, " +
        "and asked for once more if it does not fit. Null: any text.",
    },
  ),
);

export const ToolPin = Type.Object(
  {
    name: Type.String({ description: "The tool's name." }),
    revision: Type.Integer({ description: "Revision from 1, pinned by the version." }),
    kind: oneOf(["builtin", "http", "mcp"] as const, "Kind of the tool."),
    risk: oneOf(["read", "write", "irreversible"] as const, "Risk of the tool."),
  },
  { description: "A tool as this version uses it." },
);
export type ToolPin = Static<typeof ToolPin>;

/** agents.does.version, agents.resources.version */
export const Version = Resource(
  "AgentVersion",
  {
    agent_id: Type.String({ format: "uuid", description: "The agent." }),
    version: Type.Integer({ description: "Number from 1, per agent." }),
    system_prompt: Type.String({ description: "Stands before every conversation." }),
    model: Type.String({ description: "A model's id, or the alias of the default model." }),
    tools: Type.Array(Type.String({ description: "A tool's name." }), {
      description: "Tools that the model may call.",
    }),
    tool_revisions: Type.Array(ToolPin, {
      description: "The same tools with their pinned revisions.",
    }),
    policy: Policy,
    budgets: Budgets,
    model_params: ModelParams,
    output_schema: maybe(OutputSchema),
    created_at: Timestamp("Time of creation."),
    created_by_key_id: maybe(Type.String({ description: "The key that created it, if known." })),
  },
  "An immutable snapshot of an agent's behaviour.",
);
export type Version = Static<typeof Version>;

/** The default model is stored as null, so that another default or alias breaks no version. */
export const VersionRow = Type.Object({
  ...Version.properties,
  model: maybe(Type.String()),
});
export type VersionRow = Static<typeof VersionRow>;

export const DEFAULT_POLICY = defaultsOf(Policy);
export const DEFAULT_BUDGETS = defaultsOf(Budgets);
const DEFAULT_MODEL_PARAMS = defaultsOf(ModelParams);

/** A field without a default in its schema is null by default. */
function defaultsOf<S extends TObject>({ properties }: S): Static<S> {
  const fields = Object.entries(properties);
  return Object.fromEntries(fields.map(([name, field]) => [name, field.default ?? null]));
}

export type Behaviour = Pick<
  VersionRow,
  "system_prompt" | "model" | "tools" | "policy" | "budgets" | "model_params" | "output_schema"
>;

export type Partly<T> = { [K in keyof T]?: T[K] | null };

/** Changes of a request: an absent field is inherited, null stands for the default. */
export interface BehaviourChange {
  system_prompt?: string;
  model?: string | null;
  tools?: string[] | null;
  policy?: Partly<Policy> | null;
  budgets?: Partly<Budgets> | null;
  model_params?: Partly<ModelParams> | null;
  output_schema?: Record<string, unknown> | null;
}

/** Defaults that a first version inherits; its request always has a prompt. */
export const DEFAULT_BEHAVIOUR: Behaviour = {
  system_prompt: "",
  model: null,
  tools: [],
  policy: DEFAULT_POLICY,
  budgets: DEFAULT_BUDGETS,
  model_params: DEFAULT_MODEL_PARAMS,
  output_schema: null,
};

/** agents.does.version: inherits field by field, also inside objects. */
export function inherit(old: Behaviour, change: BehaviourChange): Behaviour {
  return {
    system_prompt: change.system_prompt ?? old.system_prompt,
    model: change.model === undefined ? old.model : change.model,
    tools: change.tools === undefined ? old.tools : (change.tools ?? []),
    policy: inheritFields(old.policy, change.policy, DEFAULT_POLICY),
    budgets: inheritFields(old.budgets, change.budgets, DEFAULT_BUDGETS),
    model_params: inheritFields(old.model_params, change.model_params, DEFAULT_MODEL_PARAMS),
    output_schema: change.output_schema === undefined ? old.output_schema : change.output_schema,
  };
}

export function hasSamePins(pins: readonly ToolPin[], others: readonly ToolPin[]): boolean {
  const write = ({ name, kind, revision }: ToolPin) =>
    kind === "builtin" ? name : `${name} ${revision}`;
  return pins.map(write).join() === others.map(write).join();
}

/** Takes the fields of the defaults, since an older program may have stored fewer. */
function inheritFields<T extends object>(
  old: T,
  change: Partly<T> | null | undefined,
  defaults: T,
): T {
  if (change === null) return { ...defaults };
  const names = Object.keys(defaults) as (keyof T)[];
  const fields = names.map((name) => {
    const sent = change?.[name];
    if (sent === undefined) return [name, old[name] ?? defaults[name]];
    return [name, sent ?? defaults[name]];
  });
  return Object.fromEntries(fields) as T;
}
