// A run: one execution of an agent's version, as its owner sees it and as it is stored.
import { type Static, Type } from "@sinclair/typebox";
import type { RunSource } from "../../http/index.ts";
import { Money, maybe, oneOf, Resource, Row, spread, Timestamp } from "../../platform/schema.ts";
import { Metadata } from "../definitions/agent.ts";
import { Budgets } from "../definitions/version.ts";
import { MessagePart } from "../threads/parts.ts";
import { STATUSES } from "./transitions.ts";

export const TRIGGER_KINDS = ["manual", "cron", "webhook"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

const price = (what: string) =>
  maybe(Type.String({ description: `SAR per ${what}, six places; null: unknown.` }));

/** agents.does.cost.2: frozen at the start of the run. */
export const Prices = Type.Object(
  {
    currency: Type.Literal("SAR", { description: "Always SAR." }),
    models: Type.Record(
      Type.String(),
      Type.Object(
        {
          prompt: Type.Optional(price("million tokens read")),
          completion: Type.Optional(price("million tokens written")),
        },
        { description: "Of one model." },
      ),
      { description: "By the model's id." },
    ),
    tools: Type.Record(Type.String(), price("call"), { description: "By the tool's name." }),
  },
  { description: "The prices of this run, whatever they are changed to later." },
);
export type Prices = Static<typeof Prices>;

const RunInput = Type.Object(
  {
    message: Type.String({ description: "What the run was asked." }),
    content: Type.Optional(
      Type.Array(MessagePart, { description: "Its texts and images, if it has images." }),
    ),
    hook: Type.Optional(Type.Unknown({ description: "The body of the hook that started it." })),
  },
  { description: "What it was started with." },
);

/** agents.does.run, agents.resources.run */
export const Run = Resource(
  "Run",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    agent_id: Type.String({ format: "uuid", description: "Its agent." }),
    version: Type.Integer({ description: "The version of the agent that it executes." }),
    thread_id: Type.String({ format: "uuid", description: "The thread it adds to." }),
    status: oneOf(STATUSES, "Where it stands; the last four are final."),
    cancel_requested: Type.Boolean({ description: "true: it was asked to stop while it ran." }),
    trigger_kind: oneOf(TRIGGER_KINDS, "What started it."),
    trigger_id: maybe(Type.String({ format: "uuid", description: "The trigger; null: none." })),
    fire_id: maybe(Type.String({ format: "uuid", description: "The trigger's fire; null: none." })),
    input: RunInput,
    output: maybe(
      Type.Object(
        {
          message: Type.String({ description: "The model's last text." }),
          data: Type.Optional(
            Type.Record(Type.String(), Type.Unknown(), {
              description: "The text as JSON, valid by the version's `output_schema`, if it is.",
            }),
          ),
        },
        { description: "What came of it, also when it ended early; null: no text came." },
      ),
    ),
    error: maybe(
      Type.Object(
        {
          code: Type.String({ description: "For programs." }),
          message: Type.String({ description: "A sentence for people." }),
        },
        { description: "Why it ended otherwise than `succeeded`; null: it did not." },
      ),
    ),
    cost: spread(
      {
        model: maybe(Money("SAR of the models; null: unknown.")),
        tools: maybe(Money("SAR of the tools; null: unknown.")),
        total: maybe(Money("SAR of both; null: one of them is unknown.")),
        prices: Prices,
      },
      "What it cost so far; what a reply that broke off cost is unknown.",
    ),
    usage: spread(
      {
        prompt_tokens: Type.Integer({ description: "Tokens read, of all rounds." }),
        completion_tokens: Type.Integer({ description: "Tokens written, of all rounds." }),
        total_tokens: Type.Integer({ description: "Both together." }),
        rounds: Type.Integer({ description: "Model rounds." }),
        tool_calls: Type.Integer({ description: "Tool calls that were run." }),
      },
      "What it used so far, without replies that broke off.",
    ),
    external_content: Type.Boolean({
      description: "true: the run, or its thread before it, read content from outside.",
    }),
    pending_approvals: Type.Array(Type.String({ description: "An approval's id." }), {
      description: "The approvals that it waits for.",
    }),
    metadata: Metadata,
    rerun_of: maybe(
      Type.String({ format: "uuid", description: "The run that it repeats; null: none." }),
    ),
    started_by_key_id: maybe(
      Type.String({ description: "The key that it acts for; null: unknown." }),
    ),
    recoveries: Type.Integer({ description: "How often it was taken up again after a crash." }),
    created_at: Timestamp("When it was accepted."),
    started_at: maybe(Timestamp("When it first began; null: it has not.")),
    finished_at: maybe(Timestamp("When it ended; null: it has not.")),
  },
  "One execution of an agent's version.",
);
export type Run = Static<typeof Run>;

export const RERUN_TOOLS = ["recorded", "live"] as const;

export const RunRow = Row(Run, {
  account_id: Type.String(),
  /** Number among the account's runs in the order of their start. */
  number: Type.Integer(),
  epoch: Type.Integer(),
  last_seq: Type.Integer(),
  /** Number of its last message in the thread, to which only this run adds. */
  message_seq: Type.Integer(),
  /** Model that the version's model name meant at the start. */
  model: Type.String(),
  budgets: Budgets,
  /** Micro-SAR of everything with a price, which `max_cost_sar` limits. */
  priced: Type.Integer(),
  /** Key that fired the trigger by hand or knows its hook's secret. */
  fired_by_key_id: maybe(Type.String()),
  started_by_operator: maybe(
    Type.String({
      description: "Operator who started it for the key by command; null: none did.",
    }),
  ),
  /** Source of a rerun's results: the record, or new calls; null for other runs. */
  rerun_tools: maybe(oneOf(RERUN_TOOLS, "Where results come from.")),
  /** First round of a rerun in which the model is asked; null: it is asked in each. */
  rerun_from_round: maybe(Type.Integer()),
  /** Milliseconds of work without waiting, as of the last write. */
  worked_ms: Type.Integer(),
  /** Crashes of processes since the last progress. */
  crashes: Type.Integer(),
});
export type RunRow = Static<typeof RunRow>;

/**
 * Lists the messages that start a run. A hook's body comes first, as content from outside: the
 * owner's message comes last, and stays when a long body is summarised.
 */
export function listAsks(input: RunRow["input"]): AskedMessage[] {
  const asked = { content: input.message, parts: input.content ?? null, external: false };
  if (!("hook" in input)) return [asked];
  return [{ content: JSON.stringify(input.hook), parts: null, external: true }, asked];
}

interface AskedMessage {
  content: string;
  parts: MessagePart[] | null;
  external: boolean;
}

/** Names a run in the request log. */
export function sourceOf({ id, agent_id, version }: RunRow): RunSource {
  return { id, agent_id, version };
}
