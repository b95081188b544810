// Steps: the log of what a run did, in order and never changed.
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";
import { Approval, WHY } from "../approvals/approval.ts";
import { ToolCallText } from "../threads/thread.ts";
import { RISKS } from "../tools/contract.ts";

const cost = maybe(Type.String({ description: "SAR, six places; null: unknown." }));
const text = (description: string) => Type.String({ description });

export const AssistantData = Type.Object(
  {
    content: maybe(text("Its text; null: only calls.")),
    tool_calls: Type.Array(ToolCallText, { description: "The calls it asks for." }),
    finish_reason: text("Why it ended: `stop`, `tool_calls`, `length` …"),
    model: text("The model that answered."),
    usage: Type.Object(
      {
        prompt_tokens: Type.Integer({ description: "Tokens read." }),
        completion_tokens: Type.Integer({ description: "Tokens written." }),
        total_tokens: Type.Integer({ description: "Both together." }),
      },
      { description: "Of this round." },
    ),
    cost,
    duration_ms: Type.Integer({ description: "Milliseconds from question to whole reply." }),
  },
  { $id: "AssistantData", description: "Of `assistant`." },
);
export type AssistantData = Static<typeof AssistantData>;

export const ToolCallData = Type.Object(
  {
    tool_call_id: text("The call."),
    name: text("The tool."),
    revision: Type.Integer({ description: "The tool's revision; 0: there is no such tool." }),
    risk: maybe(oneOf(RISKS, "Its risk; null: there is no such tool.")),
    arguments: Type.Unknown({
      description: "As parsed; null: they are not valid, or there is no such tool.",
    }),
    decision: oneOf(
      ["auto", "needs_approval", "approved", "refused"] as const,
      "Whether it runs by itself, after a person's decision, or not at all.",
    ),
    why: Type.Array(oneOf(WHY, "A reason."), { description: "Why a person is asked." }),
    approval_id: maybe(text("The approval it waits for; null: none.")),
    attempt: Type.Integer({
      description:
        "How often it has been sent, this time included: such a step stands before each sending " +
        "of what changes something outside. 0: it is planned; of what only reads 1 at once, " +
        "unless it is refused.",
    }),
  },
  { $id: "ToolCallData", description: "Of `tool_call`." },
);
export type ToolCallData = Static<typeof ToolCallData>;

export const OUTCOMES = [
  "ok",
  "error",
  "timeout",
  "rejected",
  "expired",
  "invalid_arguments",
  "unknown_tool",
  "disabled",
  "outcome_unknown",
  "cancelled",
] as const;
export type StepOutcome = (typeof OUTCOMES)[number];

export const ToolResultData = Type.Object(
  {
    tool_call_id: text("The call."),
    name: text("The tool."),
    outcome: oneOf(OUTCOMES, "What became of it."),
    content: text("What the model reads."),
    truncated: Type.Boolean({
      description:
        "true: it was cut, and says so where; `read_output` has the whole, unless very much was.",
    }),
    http_status: maybe(Type.Integer({ description: "Of an HTTP tool; null: none came." })),
    duration_ms: maybe(
      Type.Integer({ description: "Milliseconds; null: it was not run, or its end is unknown." }),
    ),
    external: Type.Boolean({ description: "true: content from outside the platform." }),
    cost,
  },
  { $id: "ToolResultData", description: "Of `tool_result`." },
);
export type ToolResultData = Static<typeof ToolResultData>;

const ApprovalData = Type.Object(
  {
    event: oneOf(
      ["requested", "approved", "rejected", "expired", "closed"] as const,
      "What happened.",
    ),
    approval: Approval,
  },
  { $id: "ApprovalData", description: "Of `approval`: the approval as it was then." },
);
/** Holds the approval as it is shown, with times as text. */
export interface ApprovalData {
  event: Static<typeof ApprovalData>["event"];
  approval: Record<string, unknown>;
}

const SYSTEM_EVENTS = [
  "external_content",
  "price_missing",
  "compacted",
  "recovered",
  "model_retry",
  "cancel_requested",
  "budget",
  "output_invalid",
  "task_started",
] as const;

export const SystemData = Type.Object(
  {
    event: oneOf(SYSTEM_EVENTS, "What happened."),
    message: text("A sentence for people."),
    detail: Type.Optional(maybe(Type.Unknown({ description: "By the kind of event." }))),
  },
  { $id: "SystemData", description: "Of `system`." },
);
export type SystemData = Static<typeof SystemData>;

/** agents.resources.step */
export const KINDS = ["assistant", "tool_call", "tool_result", "system", "approval"] as const;
export type Kind = (typeof KINDS)[number];

const VARIANTS: Readonly<Record<Kind, { name: string; data: TObject }>> = {
  assistant: { name: "AssistantStep", data: AssistantData },
  tool_call: { name: "ToolCallStep", data: ToolCallData },
  tool_result: { name: "ToolResultStep", data: ToolResultData },
  system: { name: "SystemStep", data: SystemData },
  approval: { name: "ApprovalStep", data: ApprovalData },
};

const FIELDS = {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  run_id: Type.String({ format: "uuid", description: "Its run." }),
  seq: Type.Integer({ description: "From 1, per run, without gaps." }),
  kind: oneOf(KINDS, "What kind of step it is; it decides the form of `data`."),
  round: Type.Integer({ description: "The model round it belongs to; 0: before the first." }),
  created_at: Timestamp("When it was written."),
};

/** agents.does.step, agents.resources.step */
export const Step = Resource(
  "RunStep",
  {
    ...FIELDS,
    data: Type.Union(
      Object.values(VARIANTS).map(({ data }) => data),
      { description: "What happened, by its kind." },
    ),
  },
  "What a run did; it never changes.",
);
/** For the OpenAPI document, where `kind` discriminates `data`. */
export const RunStep = Type.Union(
  KINDS.map((kind) =>
    Resource(
      VARIANTS[kind].name,
      {
        ...FIELDS,
        kind: Type.Literal(kind, { description: FIELDS.kind.description }),
        data: VARIANTS[kind].data,
      },
      `A step of the kind \`${kind}\`.`,
    ),
  ),
  { $id: "RunStep", discriminator: "kind", description: "What a run did; it never changes." },
);
export type Step = Static<typeof Step>;

export type StepContent =
  | { kind: "assistant"; data: AssistantData }
  | { kind: "tool_call"; data: ToolCallData }
  | { kind: "tool_result"; data: ToolResultData }
  | { kind: "system"; data: SystemData }
  | { kind: "approval"; data: ApprovalData };

const number = () => Type.Optional(Type.Integer());

/** How a step was executed. Only operators see it: keys see the step itself. */
export const StepExecution = Type.Object({
  /** When the call of the model or tool began, in milliseconds since 1970. */
  started_at: number(),
  ended_at: number(),
  waited_ms: number(),
  first_token_ms: number(),
  replica: Type.Optional(Type.String()),
  attempts: number(),
  /** Id of a model's request in the request log. */
  request_id: Type.Optional(Type.String()),
  /** The prompt of a reply, by which a rebuilt one is known to be the same. */
  prompt: Type.Optional(
    Type.Object({
      messages: Type.Integer(),
      characters: Type.Integer(),
      /** Nonce of the delimiters around content from outside. */
      nonce: Type.String(),
      has_external: Type.Boolean(),
      /** The thread's last message that a summary replaced. */
      summarised_to: maybe(Type.Integer()),
      /** Tools of the version that the model was not offered; absent: none. */
      tools_off: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  /** Text of the summary that the step made. */
  summary: Type.Optional(Type.String()),
});
export type StepExecution = Static<typeof StepExecution>;

export type NewStep = { id: string; round: number; execution?: StepExecution } & StepContent;

/** A step with the status of its run at that time, from which event streams report changes. */
export const StepRow = Type.Object({
  ...Step.properties,
  status: Type.String(),
  execution: maybe(StepExecution),
});
export type StepRow = Static<typeof StepRow>;
