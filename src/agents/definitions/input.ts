// Request bodies for agents and versions.
import {
  type Static,
  type TObject,
  type TOptional,
  type TSchema,
  type TUnsafe,
  Type,
} from "@sinclair/typebox";
import { named } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { formatMoney, parseMoney } from "../../platform/money.ts";
import { FilledText, maybe, oneOf, StoredText, withRules } from "../../platform/schema.ts";
import { SentMetadata, validateMetadata } from "./agent.ts";
import type { AgentChange } from "./store.ts";
import {
  type BehaviourChange,
  Budgets,
  ModelParams,
  OutputSchema,
  type Partly,
  Policy,
} from "./version.ts";

const NAME_CHARACTERS_MAX = 200;
const PROMPT_CHARACTERS_MAX = 100_000;
const DESCRIPTION_CHARACTERS_MAX = 2_000;
const MODEL_CHARACTERS_MAX = 128;
const TOOLS_MAX = 128;
const TOOL_CHARACTERS_MAX = 64;
const strict = { additionalProperties: false };
/** Maximum length of an amount, above that of every stored one. */
const AMOUNT_CHARACTERS_MAX = 32;

const name = FilledText("Name for people.", NAME_CHARACTERS_MAX);
const system_prompt = FilledText("Begins every conversation.", PROMPT_CHARACTERS_MAX);
const slug = named(
  Type.String({
    description: "Unique per owner: 1 to 64 of a-z, 0-9 and -, neither first nor last a -.",
    pattern: "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$",
  }),
  "1 to 64 characters of a-z, 0-9 and -, neither first nor last a -",
);
const model = Type.String({
  description: "A model's id or the default model's alias; null for the default model.",
  minLength: 1,
  maxLength: MODEL_CHARACTERS_MAX,
});
const description = StoredText("Description for people, if any.", DESCRIPTION_CHARACTERS_MAX);
const tools = Type.Array(
  Type.String({ description: "A tool's name.", minLength: 1, maxLength: TOOL_CHARACTERS_MAX }),
  { description: "Tools that the model may call, each once; null for none.", maxItems: TOOLS_MAX },
);
const max_cost_sar = Type.Union(
  [
    Type.String({ description: 'Such as "1.20".', maxLength: AMOUNT_CHARACTERS_MAX }),
    Type.Number({ description: "Such as 1.2.", minimum: 0 }),
    Type.Null(),
  ],
  {
    description:
      "SAR with at most six decimals; bounds the priced part of the cost; null for no limit.",
  },
);

type SentBudgets = Omit<Budgets, "max_cost_sar"> & { max_cost_sar: string | number | null };

const behaviour = {
  model: Type.Optional(maybe(model)),
  tools: Type.Optional(maybe(tools)),
  policy: partOf<Policy>(Policy),
  budgets: partOf<SentBudgets>(Budgets, { max_cost_sar }),
  model_params: partOf<ModelParams>(ModelParams),
  output_schema: Type.Optional(maybe(OutputSchema)),
};
const metadata = Type.Optional(maybe(SentMetadata));
const own = {
  slug: Type.Optional(slug),
  description: Type.Optional(maybe(description)),
  metadata,
  expose: Type.Optional(
    maybe(Type.Boolean({ description: "true: clients of `/mcp` find it as a tool. Null: false." })),
  ),
};
const rules = {
  tools: (body: { tools?: string[] | null }) =>
    new Set(body.tools).size < (body.tools?.length ?? 0) ? "must name each tool once" : null,
  metadata: (body: { metadata?: object | null }) => validateMetadata(body.metadata),
};

/** agents.endpoints.agents.post_agents */
export const NewAgent = withRules(
  Type.Object(
    {
      name,
      system_prompt,
      ...behaviour,
      ...own,
      slug: Type.Optional(
        maybe({ ...slug, description: `${slug.description} Default: made from the name.` }),
      ),
    },
    {
      ...strict,
      $id: "NewAgent",
      description: "An agent and its version 1; absent and null fields take their defaults.",
      examples: [
        {
          name: "Researcher",
          system_prompt: "Answer briefly, and name your sources.",
          tools: ["calculator", "web_search"],
          budgets: { max_cost_sar: "2.00", max_rounds: 10 },
        },
      ],
    },
  ),
  rules,
);
export type NewAgent = Static<typeof NewAgent>;

/** agents.endpoints.agents.post_agents_id_versions */
export const NewVersion = withRules(
  Type.Object(
    {
      expected_version: Type.Optional(
        Type.Integer({
          description: "Current version, or 409 `version_conflict`.",
          minimum: 1,
          maximum: 2_147_483_647,
        }),
      ),
      name: Type.Optional(name),
      system_prompt: Type.Optional(system_prompt),
      ...behaviour,
      ...own,
    },
    {
      ...strict,
      $id: "NewAgentVersion",
      examples: [{ system_prompt: "Answer in one sentence.", expected_version: 1 }],
      description:
        "Absent fields are inherited, in `policy`, `budgets` and `model_params` field by field; " +
        "null is the default. `name`, `slug`, `description`, `metadata` and `expose` change the " +
        "agent.",
    },
  ),
  rules,
);
export type NewVersion = Static<typeof NewVersion>;

export const AgentPatch = withRules(
  Type.Object(
    {
      name: Type.Optional(name),
      ...own,
      status: Type.Optional(oneOf(["active", "archived"] as const, "`archived`: no runs start.")),
    },
    { ...strict, $id: "AgentPatch", description: "Absent fields stay as they are." },
  ),
  { metadata: rules.metadata },
);
export type AgentPatch = Static<typeof AgentPatch>;

/** Makes every field of an object optional and nullable; `others` replace some. */
function partOf<T>(
  schema: TObject,
  others: Record<string, TSchema> = {},
): TOptional<TUnsafe<Partly<T> | null>> {
  const fields = Object.entries({ ...schema.properties, ...others }).map(([field, inner]) => {
    // An absent field is inherited, so null means the default.
    const { default: fallback, ...rest } = inner;
    const text = `${rest.description} Null: ${JSON.stringify(fallback ?? null)}.`;
    const described = fallback === undefined ? rest : { ...rest, description: text };
    const isNullable = rest.anyOf?.some(({ type }: TSchema) => type === "null");
    const whole = described as TSchema;
    return [field, Type.Optional(isNullable ? whole : maybe(whole))];
  });
  const part = Type.Object(Object.fromEntries(fields), {
    ...strict,
    description: `${schema.description} Null for all defaults.`,
  });
  return Type.Optional(maybe(part)) as never;
}

type SentBehaviour = Pick<NewVersion, "system_prompt" | keyof typeof behaviour>;

export function readBehaviour(body: SentBehaviour): BehaviourChange {
  const { system_prompt, model, tools, policy, model_params, output_schema } = body;
  const change: BehaviourChange = {
    model,
    tools,
    policy,
    model_params,
    output_schema,
    budgets: readBudgets(body.budgets),
  };
  if (system_prompt !== undefined) change.system_prompt = system_prompt.toWellFormed();
  return change;
}

export function readAgentChange(
  body: Omit<AgentPatch, "slug"> & { slug?: string | null },
): AgentChange {
  const change: AgentChange = {};
  if (body.name !== undefined) change.name = body.name.toWellFormed();
  if (typeof body.slug === "string") change.slug = body.slug;
  if (body.description !== undefined) {
    change.description = body.description?.toWellFormed() ?? null;
  }
  if (body.metadata !== undefined) {
    change.metadata = (body.metadata ?? {}) as Record<string, string>;
  }
  if (body.expose !== undefined) change.expose = body.expose ?? false;
  if (body.status !== undefined) change.status = body.status;
  return change;
}

function readBudgets(sent: NewVersion["budgets"]): BehaviourChange["budgets"] {
  if (!sent) return sent;
  const { max_cost_sar: amount, ...others } = sent;
  if (amount === undefined || amount === null) return { ...others, max_cost_sar: amount };
  return { ...others, max_cost_sar: readAmount(String(amount)) };
}

/** agents.resources.budgets: stored as a decimal with six places. */
function readAmount(text: string): string {
  try {
    return formatMoney(parseMoney(text));
  } catch {
    const param = "budgets.max_cost_sar";
    const message = `\`${param}\` must be an amount such as "1.20", with at most six decimals.`;
    throw apiError("invalid_request", { param, message });
  }
}
