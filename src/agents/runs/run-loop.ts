// One run from where it stands to its end: cancel? → budgets → model → steps → tools, and again.
import type { InternalCompletion } from "../../gateway/index.ts";
import { reachPoison } from "../../platform/failpoint.ts";
import { checkBudgets, checkTime } from "./budget.ts";
import { runRound } from "./calls/round.ts";
import { reduceContext } from "./context-reduction.ts";
import { CANCELLED, failRun, finishOverBudget, finishRun, KEY_ENDED } from "./finish.ts";
import { hasHung, nameRound, watchCall } from "./hung-call.ts";
import { callModel, type ModelCallResult } from "./model-call.ts";
import { buildPrompt } from "./prompt.ts";
import { takeReply } from "./reply.ts";
import type { InterruptReason, RunContext, RunOutcome, StepResult } from "./run-context.ts";
import { RunLost } from "./run-log.ts";
import { takeSummary } from "./summary.ts";

/** A model that cannot write arguments does not learn it in the fourth round. */
const INVALID_ROUNDS_MAX = 3;
/** A thread that is still too long after so many summaries is left to the model's server. */
const SUMMARIES_A_ROUND_MAX = 4;

const HUNG = failRun(
  "internal_error",
  "The model's round stopped the service twice and is not asked again.",
);

/** Goes on with a run until it ends, waits for a person, or is let go. */
export async function runLoop(context: RunContext): Promise<RunOutcome> {
  let summaries = 0;
  try {
    for (;;) {
      const turn = await goOn(context, summaries < SUMMARIES_A_ROUND_MAX);
      if (turn === "broken")
        return await breakOff(context, context.control.signal.reason as InterruptReason);
      if (turn === "next") summaries = 0;
      else if (turn === "summarised") summaries += 1;
      else if (turn === "not_summarised") summaries = SUMMARIES_A_ROUND_MAX;
      else if (turn !== "shortened") return turn;
    }
  } catch (failure) {
    if (failure instanceof RunLost) return "lost";
    throw failure;
  }
}

async function goOn(context: RunContext, maySummarise: boolean): Promise<StepResult> {
  const { state, runLog, control } = context;
  // agents.states.running_cancel: at its next step.
  if (state.row.cancel_requested) return finishRun(context, CANCELLED);
  if (control.signal.aborted) return "broken";
  if (state.open.length > 0) return runRound(context);
  if (state.invalid_rounds >= INVALID_ROUNDS_MAX) {
    const message = `The model wrote invalid arguments in ${INVALID_ROUNDS_MAX} rounds in a row.`;
    return finishRun(context, failRun("invalid_arguments", message));
  }
  const exceeded = checkBudgets(state.row, runLog.countWorked());
  if (exceeded) return finishOverBudget(context, exceeded);
  if (context.isDraining()) return release(context);
  return askOn(context, maySummarise);
}

async function askOn(context: RunContext, maySummarise: boolean): Promise<StepResult> {
  await context.refreshTools?.();
  const round = nameRound(context.state);
  if (hasHung(context.state, round)) return finishRun(context, HUNG);
  const conversation = watchCall(context, round, () => buildPrompt(context, maySummarise));
  const asked = await callModel(context, conversation.ask);
  if (asked === "broken") return "broken";
  if (asked === "stopped") return release(context);
  if (!isAnswer(asked)) {
    const isShortened = await reduceContext(context, asked, conversation, maySummarise);
    return isShortened ? "shortened" : finishRun(context, asked);
  }
  const { needsSummary } = conversation;
  if (needsSummary) return takeSummary(context, needsSummary, asked);
  return watchCall(context, round, () => {
    reachPoison("reply", asked);
    return takeReply(context, asked);
  });
}

function isAnswer(asked: Exclude<ModelCallResult, string>): asked is InternalCompletion {
  return "ok" in asked;
}

async function release({ runLog }: RunContext): Promise<RunOutcome> {
  await runLog.release();
  return "released";
}

function breakOff(context: RunContext, why: InterruptReason): Promise<RunOutcome> | RunOutcome {
  switch (why) {
    case "cancel":
      return finishRun(context, CANCELLED);
    case "time":
      return finishOverBudget(context, checkTime(context.state.row));
    case "key":
      return finishRun(context, KEY_ENDED);
    case "stop":
      return release(context);
    case "lost":
      return "lost";
  }
}
