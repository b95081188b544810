// How a run went, and what is the same in two runs, as comparisons and evaluations show it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf } from "../../platform/schema.ts";
import { STATUSES } from "./transitions.ts";

const count = (description: string) => Type.Integer({ description });

export const RunOutcome = Type.Object(
  {
    run_id: Type.String({ description: "The run." }),
    version: count("Version of the agent."),
    status: oneOf(STATUSES, "Where it stands."),
    error_code: maybe(Type.String({ description: "Why it ended early; null: it did not." })),
    rounds: count("Model rounds."),
    tool_calls: count("Tool calls that were run, or taken from the record."),
    prompt_tokens: count("Tokens read."),
    completion_tokens: count("Tokens written."),
    total_tokens: count("Both together."),
    cost: maybe(Type.String({ description: "SAR, six places; null: unknown." })),
    worked_ms: count("Milliseconds of work, without waiting for people."),
    text: maybe(
      Type.String({ description: "Begin of the model's last text; null: it wrote none." }),
    ),
  },
  { description: "How a run went." },
);
export type RunOutcome = Static<typeof RunOutcome>;

export const Sameness = Type.Object(
  {
    end: Type.Boolean({ description: "true: the same status and error code." }),
    calls: Type.Boolean({ description: "true: the same tools and arguments, in the same order." }),
    text: Type.Boolean({ description: "true: the same last text." }),
  },
  { description: "What is the same in both." },
);
export type Sameness = Static<typeof Sameness>;
