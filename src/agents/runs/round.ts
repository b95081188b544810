// A round as it is explained: what the model was asked with, what it took and cost.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";
import { ModelParams, type VersionRow } from "../definitions/version.ts";
import { AssistantData, type StepRow, type SystemData } from "./step.ts";

const number = (description: string) => Type.Integer({ minimum: 0, description });
const text = (description: string) => Type.String({ description });

const Retry = Type.Object(
  {
    step_seq: number("Its step, of the kind `system`."),
    code: text("Why the attempt before failed, such as `upstream_error`."),
    wait_ms: number("Milliseconds until the model was asked again, at least."),
  },
  { $id: "RoundRetry", description: "A repeated attempt." },
);

const Summarised = Type.Object(
  {
    step_seq: number("Its step, whose `detail` has tokens and cost."),
    through_seq: maybe(
      number("The last message of the thread that it replaces; null: none came of it."),
    ),
  },
  { $id: "RoundSummary", description: "A summary of older messages." },
);

export const RunRound = Resource(
  "RunRound",
  {
    round: number("Number of the round, from 1."),
    step_seq: number("The step of its reply, which has the text and the calls."),
    request_id: maybe(
      text("Id of the request in the request log; null: an earlier version asked, or none did."),
    ),
    model_asked: maybe(text("The model that the version names; null: the default one.")),
    model: text("The model that answered."),
    parameters: ModelParams,
    finish_reason: AssistantData.properties.finish_reason,
    usage: AssistantData.properties.usage,
    cost: AssistantData.properties.cost,
    asked_at: Timestamp("When the model was asked."),
    waited_ms: maybe(number("Milliseconds in the queue for a place or a server; null: none.")),
    first_token_ms: maybe(
      number("Milliseconds until the first piece of the reply, the wait included; null: unknown."),
    ),
    duration_ms: AssistantData.properties.duration_ms,
    ended_at: Timestamp("When the reply was whole."),
    attempts: maybe(number("Requests to model servers for this reply; null: unknown.")),
    retries: Type.Array(Retry, {
      description: "Attempts that failed before, each a request of its own.",
    }),
    summaries: Type.Array(Summarised, { description: "Summaries that were made for it." }),
  },
  "A round of a run: one reply of its model, and how it came about.",
);
export type RunRound = Static<typeof RunRound>;

const RoundCall = Type.Object(
  {
    id: text("Identifier of the call."),
    name: text("The tool."),
    arguments: text("JSON text, as the model was shown it."),
  },
  { $id: "RoundCall", description: "A call that a message asked for." },
);

const RoundMessage = Type.Object(
  {
    role: text("`system`, `user`, `assistant` or `tool`."),
    content: text(
      "The text, with the delimiters around content from outside; empty: none. `[An image.]` " +
        "stands for an image, whose bytes are not shown.",
    ),
    tool_calls: Type.Array(RoundCall, { description: "Calls that the message asked for." }),
    tool_call_id: maybe(text("The call that it answers; null: none.")),
    tool: maybe(text("Tool of that call; null: none, or of another run.")),
    round: maybe(number("Round of this run that wrote it; null: none of them did.")),
    external: Type.Boolean({ description: "true: it is delimited as content from outside." }),
    tokens: number("Tokens, estimated."),
  },
  { $id: "RoundMessage", description: "A message as the model saw it." },
);

const RoundTool = Type.Object(
  {
    name: text("Its name."),
    description: text("What the model read about it."),
    parameters: Type.Unknown({ description: "JSON Schema of its arguments." }),
  },
  { $id: "RoundTool", description: "A tool that the model was offered." },
);

const Reduced = Type.Object(
  {
    message: number("Index of the message, from 0."),
    kind: oneOf(
      ["cleared", "truncated", "summary"] as const,
      "`cleared`: a result was taken out; `truncated`: its middle was; `summary`: it stands for " +
        "older messages.",
    ),
    tokens_before: maybe(number("Tokens before, estimated; null: those of a summary.")),
    tokens: number("Tokens now, estimated."),
  },
  { $id: "RoundReduction", description: "A message that is shown shorter than it is stored." },
);

export const RoundContext = Type.Object(
  {
    tokens: number("Tokens of the thread as the model saw it, estimated."),
    whole_tokens: number("Tokens before results were cleared, estimated."),
    room_tokens: maybe(
      number("Tokens that it may have beside the tools and the longest reply; null: no limit."),
    ),
    reason: maybe(
      oneOf(
        ["window", "rejected"] as const,
        "Why it was shortened. `window`: it was longer than the room; `rejected`: the model had " +
          "found it too long, and the room was halved. null: nothing was.",
      ),
    ),
    reduced: Type.Array(Reduced, { description: "What was shortened, in order." }),
  },
  { $id: "RoundContext", description: "How the thread was fitted into the model's window." },
);

export const RoundDetail = Resource(
  "RoundDetail",
  {
    ...RunRound.properties,
    context: RoundContext,
    messages: Type.Array(RoundMessage, {
      description: "In the order in which they were sent; about 4 million characters at most.",
    }),
    tools: Type.Array(RoundTool, { description: "The tools that it was offered." }),
    is_exact: Type.Boolean({
      description:
        "true: the messages have the number and the characters of text that were sent; images " +
        "are not compared. false: settings or summaries have changed since, or an earlier " +
        "version of the program sent them.",
    }),
  },
  "A round with the messages and tools that its model was sent.",
);

/** Returns what finds the rounds of a run in its steps, which are given to it in order. */
export function createRoundFinder({ model, model_params }: VersionRow) {
  let retries: RunRound["retries"] = [];
  let summaries: RunRound["summaries"] = [];
  return ({ kind, seq, round, data, execution, created_at }: StepRow): RunRound | undefined => {
    if (kind === "system") {
      const { event, detail } = data as SystemData;
      const {
        code,
        wait_ms,
        through_seq = null,
      } = (detail ?? {}) as Partial<Static<typeof Retry> & { through_seq: number | null }>;
      if (event === "model_retry") retries.push({ step_seq: seq, code: code!, wait_ms: wait_ms! });
      if (event === "compacted") summaries.push({ step_seq: seq, through_seq });
    }
    if (kind !== "assistant") return undefined;
    const { finish_reason, usage, cost, duration_ms, model: served } = data as AssistantData;
    const ended_at = execution?.ended_at ?? created_at;
    const found: RunRound = {
      ...{ round, step_seq: seq, request_id: execution?.request_id ?? null },
      ...{ model_asked: model, model: served, parameters: model_params },
      ...{ finish_reason, usage, cost, duration_ms, ended_at },
      asked_at: execution?.started_at ?? ended_at - duration_ms,
      waited_ms: execution?.waited_ms ?? null,
      first_token_ms: execution?.first_token_ms ?? null,
      attempts: execution?.attempts ?? null,
      ...{ retries, summaries },
    };
    [retries, summaries] = [[], []];
    return found;
  };
}
