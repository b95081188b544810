// How an execution ends its run: every call that was planned has an outcome then.
import { apiError, type ErrorCode } from "../../platform/errors.ts";
import type { Exceeded } from "./budget.ts";
import { isSent } from "./calls/open-calls.ts";
import { writeToolMessage, writeUnfinished } from "./calls/result.ts";
import type { RunContext, RunOutcome } from "./run-context.ts";
import { type FinalState, type RunLogEntry, systemStep } from "./run-log.ts";
import type { NewStep } from "./step.ts";
import { addCall, createTelling } from "./usage.ts";

/** agents.states.running_cancel */
export const CANCELLED: FinalState = {
  status: "cancelled",
  error: { code: "cancelled", message: "The run was cancelled." },
};

/** agents.states.running_run_fails */
export function failRun(code: ErrorCode | string, message?: string): FinalState {
  const said = message ?? apiError(code as ErrorCode).message;
  return { status: "failed", error: { code, message: said } };
}

/** agents.authentication.1: runs act for their key, and not without it. */
export const KEY_ENDED = failRun("permission_denied", "The key that started the run has ended.");

export async function finishRun(
  context: RunContext,
  ending: FinalState,
  addition: RunLogEntry = { progress: context.state.row },
): Promise<RunOutcome> {
  const { state, runLog } = context;
  const { ids } = context.deps;
  const steps = [...(addition.steps ?? [])];
  const messages = [...(addition.messages ?? [])];
  const round = state.row.usage.rounds;
  // A reply that broke off has made the cost unknown, and nothing has told of that yet.
  if (!steps.some(isPriceMissing)) {
    steps.push(...createTelling(context)(round, state.row.model, addition.progress.cost.model));
  }
  const answered = new Set(steps.map(nameAnswered));
  let { progress } = addition;
  for (const { call } of state.open) {
    if (answered.has(call.tool_call_id)) continue;
    if (isSent(call)) progress = addCall(progress, 0, false);
    const result = writeUnfinished(call);
    steps.push({ id: ids.uuid(), round, kind: "tool_result", data: result });
    messages.push(writeToolMessage(result, ids.uuid()));
  }
  await runLog.finish({ ...addition, progress, steps, messages }, ending);
  return "ended";
}

function nameAnswered({ kind, data }: NewStep): string | null {
  return kind === "tool_result" ? data.tool_call_id : null;
}

function isPriceMissing({ kind, data }: NewStep): boolean {
  return kind === "system" && data.event === "price_missing";
}

/** A budget is used up: agents.states.running_priced_cost_reaches_max_cost. */
export function finishOverBudget(
  context: RunContext,
  { code, message }: Exceeded,
  addition: RunLogEntry = { progress: context.state.row },
): Promise<RunOutcome> {
  const round = addition.progress.usage.rounds;
  const told = systemStep(context.deps.ids, round, "budget", message, { budget: code });
  const error = { code, message };
  const steps = [...(addition.steps ?? []), told];
  return finishRun(context, { status: "budget_exceeded", error }, { ...addition, steps });
}
