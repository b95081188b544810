// What the model is told of calls that a person did not allow, or on which nobody decided in time.

import { failRun, finishRun } from "../finish.ts";
import type { RunContext, StepResult } from "../run-context.ts";
import type { NewStep, ToolResultData } from "../step.ts";
import { addCall } from "../usage.ts";
import { isSent, type OpenCall } from "./open-calls.ts";
import { writeResult, writeToolMessage } from "./result.ts";

export type DeniedCall = Extract<OpenCall, { standing: "denied" }>;

const SAID = {
  rejected: "A person decided that this call is not made.",
  expired: "Nobody decided in time whether this call is made, so it is not made.",
};
const SAID_OF_SENT = {
  rejected: "a person decided that it is not sent again.",
  expired: "nobody decided in time whether it is sent again, so it is not.",
};

/** agents.states.waiting_approval_reject: the run goes on, with a word to the model. */
export async function answerDenied(
  context: RunContext,
  denied: readonly DeniedCall[],
): Promise<StepResult> {
  const { state, runLog, deps } = context;
  const { ids } = deps;
  const round = state.row.usage.rounds;
  const results = denied.map(writeDenied);
  // What had been sent counts as a call, whatever became of it.
  const progress = denied
    .filter(({ call }) => isSent(call))
    .reduce((row) => addCall(row, 0, false), state.row);
  const addition = {
    progress,
    steps: results.map((data): NewStep => ({ id: ids.uuid(), round, kind: "tool_result", data })),
    messages: results.map((result) => writeToolMessage(result, ids.uuid())),
  };
  const isOver = state.version.policy.on_approval_expired === "fail";
  if (isOver && denied.some(({ event }) => event === "expired")) {
    const message = "Nobody decided in time on a call that needed approval.";
    return finishRun(context, failRun("approval_expired", message), addition);
  }
  await runLog.settle(addition);
  return "next";
}

function writeDenied({ call, event, decided }: DeniedCall): ToolResultData {
  const reason = decided.reason ? ` The reason given: ${decided.reason}` : "";
  if (isSent(call)) {
    const content = `Nobody knows whether this call was done, and ${SAID_OF_SENT[event]}${reason}`;
    return writeResult(call, { outcome: "outcome_unknown", content });
  }
  return writeResult(call, { outcome: event, content: `${SAID[event]}${reason}` });
}
