// Answers the calls of a rerun from the record: nothing is sent, asked or written elsewhere.
import { cutOutput } from "../../tools/output.ts";
import type { RecordedRun } from "../recorded-run.ts";
import { failure, type RunContext, type StepResult } from "../run-context.ts";
import type { ToolCallData } from "../step.ts";
import { type FinishedCall, limitOutput } from "./invocation.ts";
import { READ_OUTPUT } from "./known-addresses.ts";
import { makeResult, type ReadyCall } from "./open-calls.ts";
import { addKnown } from "./settlement.ts";

/** Lists calls that the record answers; the others read results of this run. */
export function listReplayed(context: RunContext, ready: readonly ReadyCall[]): ToolCallData[] {
  const { recorded, state } = context;
  if (!recorded?.answersCalls(state.row.usage.rounds)) return [];
  return ready.filter(({ call }) => call.name !== READ_OUTPUT).map(({ call }) => call);
}

export async function replayCalls(
  context: RunContext,
  recorded: RecordedRun,
  calls: readonly ToolCallData[],
): Promise<StepResult> {
  const entry = context.newEntry();
  for (const call of calls) {
    const finished = await answer(context, recorded, call);
    if (!finished) return context.finish(notRecorded(`the call of ${call.name}`), entry);
    addKnown(context, entry, finished);
  }
  await context.write("settle", entry);
  return "next";
}

export function notRecorded(what: string) {
  const message = `The record of the run that is repeated has no answer to ${what}.`;
  return failure("not_recorded", message);
}

async function answer(
  context: RunContext,
  recorded: RecordedRun,
  call: ToolCallData,
): Promise<FinishedCall | undefined> {
  const taken = recorded.take(call);
  if (!taken) return undefined;
  const content = await context.retry(() => recorded.readWhole(taken));
  const { duration_ms, cost: _, ...result } = taken;
  const { outcome } = result;
  const isUncounted = duration_ms === null && outcome !== "outcome_unknown";
  const { shown, truncated, whole } = cutOutput(content, ...limitOutput(context, call));
  const answered = makeResult(call, {
    ...{ ...result, tool_call_id: call.tool_call_id, content: shown, truncated },
    duration_ms: isUncounted ? null : 0,
  });
  return { call, result: answered, whole, cost: 0, isUncounted };
}
