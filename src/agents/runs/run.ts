// A run: one execution of a version; its fields, its states, and the one table of its transitions.
import { type Static, Type } from "@sinclair/typebox";
import { Money, maybe, Resource, Row, spread, Timestamp } from "../../platform/shape.ts";
import { Metadata } from "../definitions/agent.ts";
import { Budgets } from "../definitions/version.ts";

/** agents.states.p1, agents.states.p2: `waiting_input` and `sleeping` exist and are reserved. */
export const STATUSES = [
  "queued",
  "running",
  "waiting_approval",
  "waiting_input",
  "sleeping",
  "succeeded",
  "failed",
  "budget_exceeded",
  "cancelled",
] as const;
export type Status = (typeof STATUSES)[number];
export type FinalStatus = "succeeded" | "failed" | "budget_exceeded" | "cancelled";

/** agents.states.p3 */
export const FINAL: ReadonlySet<Status> = new Set<Status>([
  "succeeded",
  "failed",
  "budget_exceeded",
  "cancelled",
]);

/** What can happen to a run. */
export type Happening =
  | "start"
  | "request_approval"
  | "decide"
  | "succeed"
  | "fail"
  | "exceed_budget"
  | "cancel"
  | "ask_to_cancel";

/**
 * The law of a run's life: from a status, by what happens, to the next. What is not here does not
 * happen; `ask_to_cancel` of a running run only sets `cancel_requested`.
 */
export const TRANSITIONS: Readonly<Record<Status, Readonly<Partial<Record<Happening, Status>>>>> = {
  // agents.states.queued_platform_start, agents.states.queued_post_v1_runs_id_cancel
  queued: { start: "running", ask_to_cancel: "cancelled" },
  running: {
    // agents.states.running_tool_call_needs_approval
    request_approval: "waiting_approval",
    // agents.states.running_model_and_tools_finish
    succeed: "succeeded",
    // agents.states.running_run_fails
    fail: "failed",
    // agents.states.running_priced_cost_reaches_max_cost
    exceed_budget: "budget_exceeded",
    // agents.states.running_cancel
    ask_to_cancel: "running",
    cancel: "cancelled",
  },
  waiting_approval: {
    // agents.states.waiting_approval_approve, agents.states.waiting_approval_reject
    decide: "running",
    // agents.states.waiting_approval_cancel
    ask_to_cancel: "cancelled",
  },
  // Reserved: nothing brings a run here.
  waiting_input: {},
  sleeping: {},
  // agents.states.any_final_cancel
  succeeded: {},
  failed: {},
  budget_exceeded: {},
  cancelled: {},
};

export const TRIGGER_KINDS = ["manual", "cron", "webhook"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

const price = (what: string) =>
  maybe(Type.String({ description: `SAR per ${what}, six places; null: unknown.` }));

/** agents.does.cost.2: frozen when the run was made. */
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

export const RunInput = Type.Object(
  {
    message: Type.String({ description: "What the run was asked." }),
    hook: Type.Optional(Type.Unknown({ description: "The body of the hook that started it." })),
  },
  { description: "What it was started with." },
);

const oneOf = <T extends string>(values: readonly T[], description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { description },
  ) as unknown as ReturnType<typeof Type.Unsafe<T>>;

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
        { message: Type.String({ description: "The model's last text." }) },
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
      "What it cost so far.",
    ),
    usage: spread(
      {
        prompt_tokens: Type.Integer({ description: "Tokens read, of all rounds." }),
        completion_tokens: Type.Integer({ description: "Tokens written, of all rounds." }),
        total_tokens: Type.Integer({ description: "Both together." }),
        rounds: Type.Integer({ description: "Model rounds." }),
        tool_calls: Type.Integer({ description: "Tool calls that were run." }),
      },
      "What it used so far.",
    ),
    external_content: Type.Boolean({
      description: "true: the run, or its thread before it, read content from outside.",
    }),
    pending_approvals: Type.Array(Type.String({ description: "An approval's id." }), {
      description: "The approvals that it waits for.",
    }),
    metadata: Metadata,
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

/** A run and what its engine knows of it. */
export const RunRow = Row(Run, {
  account_id: Type.String(),
  /** Counts the account's runs in the order of their start: lists, and the limit of a day. */
  number: Type.Integer(),
  /** The process that executes it; 0: none does. */
  epoch: Type.Integer(),
  /** How many steps it has. */
  last_seq: Type.Integer(),
  /** The place of its newest message in the thread, where nobody else adds while it lives. */
  message_seq: Type.Integer(),
  /** The model that its version's name meant when it was started. */
  model: Type.String(),
  budgets: Budgets,
  /** Micro-SAR of all that had a price: what `max_cost_sar` is held against. */
  priced: Type.Integer(),
  /** Milliseconds of work, waiting not counted, as far as they are written. */
  worked_ms: Type.Integer(),
});
export type RunRow = Static<typeof RunRow>;

/** Every row goes through here, so that no bug can move a run against the law. */
export function transit(from: Status, happening: Happening): Status {
  const to = TRANSITIONS[from][happening];
  if (to === undefined) throw new Error(`a run that is ${from} cannot ${happening}`);
  return to;
}
