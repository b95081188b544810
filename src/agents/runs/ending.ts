// How an execution ends its run: every call that was planned has an outcome then.
import { type Code, refuse } from "../../platform/refusal.ts";
import type { Exceeded } from "./budget.ts";
import { isSent } from "./calls/open-calls.ts";
import { writeToolMessage, writeUnfinished } from "./calls/result.ts";
import { addCall, createTelling } from "./counting.ts";
import { type Addition, type End, tell } from "./journal.ts";
import type { NewStep } from "./step.ts";
import type { Fate, Work } from "./work.ts";

/** agents.states.running_cancel */
export const CANCELLED: End = {
  status: "cancelled",
  error: { code: "cancelled", message: "The run was cancelled." },
};

/** agents.states.running_run_fails */
export function fail(code: Code | string, message?: string): End {
  const said = message ?? refuse(code as Code).message;
  return { status: "failed", error: { code, message: said } };
}

/** agents.authentication.1: runs act for their key, and not without it. */
export const KEY_ENDED = fail("permission_denied", "The key that started the run has ended.");

export async function end(
  work: Work,
  ending: End,
  addition: Addition = { progress: work.state.row },
): Promise<Fate> {
  const { state, journal } = work;
  const { ids } = work.around;
  const steps = [...(addition.steps ?? [])];
  const messages = [...(addition.messages ?? [])];
  const round = state.row.usage.rounds;
  // A reply that broke off has made the cost unknown, and nothing has told of that yet.
  if (!steps.some(isPriceMissing)) {
    steps.push(...createTelling(work)(round, state.row.model, addition.progress.cost.model));
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
  await journal.finish({ ...addition, progress, steps, messages }, ending);
  return "ended";
}

function nameAnswered({ kind, data }: NewStep): string | null {
  return kind === "tool_result" ? data.tool_call_id : null;
}

function isPriceMissing({ kind, data }: NewStep): boolean {
  return kind === "system" && data.event === "price_missing";
}

/** A budget is used up: agents.states.running_priced_cost_reaches_max_cost. */
export function exceed(
  work: Work,
  { code, message }: Exceeded,
  addition: Addition = { progress: work.state.row },
): Promise<Fate> {
  const round = addition.progress.usage.rounds;
  const told = tell(work.around.ids, round, "budget", message, { budget: code });
  const error = { code, message };
  const steps = [...(addition.steps ?? []), told];
  return end(work, { status: "budget_exceeded", error }, { ...addition, steps });
}
