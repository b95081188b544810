// Two runs side by side: how they ended, what they called and said, and what that cost.
import { type Static, Type } from "@sinclair/typebox";
import { pairLists } from "../../platform/list-diff.ts";
import { maybe, oneOf } from "../../platform/schema.ts";
import { shorten } from "../../platform/text.ts";
import { READ_OUTPUT } from "./calls/known-addresses.ts";
import { type LoggedCall, nameCall } from "./calls/logged-calls.ts";
import { formatAmount } from "./cost.ts";
import { RunOutcome, Sameness } from "./outcome.ts";
import type { RunRow } from "./run.ts";
import { OUTCOMES } from "./step.ts";

/** Maximum characters of a text that a comparison shows. */
const TEXT_CHARACTERS_MAX = 65_536;
const ARGUMENTS_CHARACTERS_MAX = 4_096;
/** Maximum pairs of calls that a comparison shows. */
const CALLS_MAX = 1_000;

const ComparedCall = Type.Object({
  name: Type.String({ description: "The tool." }),
  arguments: Type.String({ description: "First 4,096 characters of the JSON text." }),
  outcome: maybe(oneOf(OUTCOMES, "What became of it; null: it has no result.")),
});
type ComparedCall = Static<typeof ComparedCall>;

export const RunComparison = Type.Object(
  {
    a: RunOutcome,
    b: RunOutcome,
    same: Sameness,
    calls: Type.Array(
      Type.Object(
        { a: maybe(ComparedCall), b: maybe(ComparedCall) },
        { description: "A call of both, or of one: null stands for the other." },
      ),
      { description: "Calls in their order, at most 1,000 pairs." },
    ),
  },
  { $id: "RunComparison", description: "Two runs side by side." },
);
export type RunComparison = Static<typeof RunComparison>;

/** A run with the calls that it planned. */
export interface CalledRun {
  run: RunRow;
  calls: readonly LoggedCall[];
}

export function describeOutcome(
  { id, version, status, error, usage, cost, worked_ms, output }: RunRow,
  charactersMax = TEXT_CHARACTERS_MAX,
): RunOutcome {
  return {
    ...{ run_id: id, version, status, error_code: error?.code ?? null },
    ...{ rounds: usage.rounds, tool_calls: usage.tool_calls },
    ...{ prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens },
    ...{ total_tokens: usage.total_tokens, cost: formatAmount(cost.total), worked_ms },
    text: output === null ? null : shorten(output.message, charactersMax),
  };
}

/** A read of an output names a call of its own run. */
const keyOf = ({ data }: LoggedCall) => (data.name === READ_OUTPUT ? data.name : nameCall(data));

export function findSameness(a: CalledRun, b: CalledRun): Sameness {
  return {
    end: a.run.status === b.run.status && a.run.error?.code === b.run.error?.code,
    calls: a.calls.map(keyOf).join() === b.calls.map(keyOf).join(),
    text: a.run.output?.message === b.run.output?.message,
  };
}

export function compareRuns(a: CalledRun, b: CalledRun): RunComparison {
  const pairs = pairLists(a.calls, b.calls, keyOf).slice(0, CALLS_MAX);
  return {
    a: describeOutcome(a.run),
    b: describeOutcome(b.run),
    same: findSameness(a, b),
    calls: pairs.map(([one, other]) => ({ a: showCall(one), b: showCall(other) })),
  };
}

function showCall(call: LoggedCall | undefined): ComparedCall | null {
  if (!call) return null;
  const { data, result } = call;
  const text = shorten(JSON.stringify(data.arguments), ARGUMENTS_CHARACTERS_MAX);
  return { name: data.name, arguments: text, outcome: result?.outcome ?? null };
}
