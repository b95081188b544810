// One run from where it stands to its end: cancel? → budgets → model → steps → tools, and again.
import type { RoundAnswer } from "../../gateway/index.ts";
import { meetPoison } from "../../platform/failpoint.ts";
import { type Asked, askModel } from "./asking.ts";
import { judgeBudgets, judgeTime } from "./budget.ts";
import { workCalls } from "./calls/working.ts";
import { converse } from "./conversation.ts";
import { CANCELLED, end, exceed, fail, KEY_ENDED } from "./ending.ts";
import { hasHung, nameRound, watchCall } from "./hung-call.ts";
import { Lost } from "./journal.ts";
import { takeReply } from "./replying.ts";
import { askForLess } from "./shortening.ts";
import { takeSummary } from "./summarising.ts";
import type { Break, Fate, Turn, Work } from "./work.ts";

/** A model that cannot write arguments does not learn it in the fourth round. */
const INVALID_ROUNDS_MAX = 3;
/** A thread that is still too long after so many summaries is left to the model's server. */
const SUMMARIES_A_ROUND_MAX = 4;

const HUNG = fail(
  "internal_error",
  "The model's round stopped the service twice and is not asked again.",
);

/** Goes on with a run until it ends, waits for a person, or is let go. */
export async function execute(work: Work): Promise<Fate> {
  let summaries = 0;
  try {
    for (;;) {
      const turn = await goOn(work, summaries < SUMMARIES_A_ROUND_MAX);
      if (turn === "broken") return await breakOff(work, work.leash.signal.reason as Break);
      if (turn === "next") summaries = 0;
      else if (turn === "summarised") summaries += 1;
      else if (turn === "not_summarised") summaries = SUMMARIES_A_ROUND_MAX;
      else if (turn !== "shortened") return turn;
    }
  } catch (failure) {
    if (failure instanceof Lost) return "lost";
    throw failure;
  }
}

async function goOn(work: Work, maySummarise: boolean): Promise<Turn> {
  const { state, journal, leash } = work;
  // agents.states.running_cancel: at its next step.
  if (state.row.cancel_requested) return end(work, CANCELLED);
  if (leash.signal.aborted) return "broken";
  if (state.open.length > 0) return workCalls(work);
  if (state.invalid_rounds >= INVALID_ROUNDS_MAX) {
    const message = `The model wrote invalid arguments in ${INVALID_ROUNDS_MAX} rounds in a row.`;
    return end(work, fail("invalid_arguments", message));
  }
  const exceeded = judgeBudgets(state.row, journal.countWorked());
  if (exceeded) return exceed(work, exceeded);
  if (work.isDraining()) return release(work);
  return askOn(work, maySummarise);
}

async function askOn(work: Work, maySummarise: boolean): Promise<Turn> {
  await work.refreshTools?.();
  const round = nameRound(work.state);
  if (hasHung(work.state, round)) return end(work, HUNG);
  const conversation = watchCall(work, round, () => converse(work, maySummarise));
  const asked = await askModel(work, conversation.ask);
  if (asked === "broken") return "broken";
  if (asked === "stopped") return release(work);
  if (!isAnswer(asked)) {
    const isShortened = await askForLess(work, asked, conversation, maySummarise);
    return isShortened ? "shortened" : end(work, asked);
  }
  const { needs_summary } = conversation;
  if (needs_summary) return takeSummary(work, needs_summary, asked);
  return watchCall(work, round, () => {
    meetPoison("reply", asked);
    return takeReply(work, asked);
  });
}

function isAnswer(asked: Exclude<Asked, string>): asked is RoundAnswer {
  return "ok" in asked;
}

async function release({ journal }: Work): Promise<Fate> {
  await journal.release();
  return "released";
}

function breakOff(work: Work, why: Break): Promise<Fate> | Fate {
  switch (why) {
    case "cancel":
      return end(work, CANCELLED);
    case "time":
      return exceed(work, judgeTime(work.state.row));
    case "key":
      return end(work, KEY_ENDED);
    case "stop":
      return release(work);
    case "lost":
      return "lost";
  }
}
