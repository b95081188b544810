// Whether a run has used up what it may, before a round and behind a reply.
import { parseMoney } from "../../platform/money.ts";
import type { Budgets } from "../definitions/version.ts";
import type { RunRow } from "./run.ts";

/** Which budget is used up, and a sentence that says so; its name is the code of the error. */
export interface Exceeded {
  code: keyof Budgets;
  message: string;
}

type Used = Pick<RunRow, "budgets" | "usage" | "priced">;

/** agents.does.cost.3: looked at before each round; the priced part alone counts. */
export function checkBudgets(run: Used, worked_ms: number): Exceeded | null {
  const { budgets, usage, priced } = run;
  const { max_cost_sar, max_total_tokens, max_rounds } = budgets;
  if (max_cost_sar !== null && priced >= parseMoney(max_cost_sar)) {
    return say("max_cost_sar", `it has cost ${max_cost_sar} SAR or more`);
  }
  if (max_total_tokens !== null && usage.total_tokens >= max_total_tokens) {
    return say("max_total_tokens", `it has used ${usage.total_tokens} tokens`);
  }
  if (usage.rounds >= max_rounds) {
    return say("max_rounds", `it has used all of its ${max_rounds} rounds`);
  }
  const left_ms = remainingMs(run, worked_ms);
  return left_ms !== null && left_ms <= 0 ? checkTime(run) : null;
}

/** The time that a run may still work; null: as long as it takes. */
export function remainingMs(
  { budgets }: Pick<RunRow, "budgets">,
  worked_ms: number,
): number | null {
  const { max_run_seconds } = budgets;
  return max_run_seconds === null ? null : max_run_seconds * 1000 - worked_ms;
}

export function checkTime({ budgets }: Pick<RunRow, "budgets">): Exceeded {
  return say("max_run_seconds", `it has worked for ${budgets.max_run_seconds} seconds`);
}

/** The reply of the last allowed round must not ask for tools, nor any reply for too many. */
export function checkCalls({ budgets, usage }: Used, calls: number): Exceeded | null {
  if (calls === 0) return null;
  if (usage.rounds >= budgets.max_rounds) {
    return say("max_rounds", `its last round of ${budgets.max_rounds} still asked for tools`);
  }
  const { max_tool_calls } = budgets;
  if (max_tool_calls !== null && usage.tool_calls + calls > max_tool_calls) {
    return say("max_tool_calls", `it asked for more than ${max_tool_calls} tool calls`);
  }
  return null;
}

function say(code: keyof Budgets, what: string): Exceeded {
  return { code, message: `The run ended at its budget ${code}: ${what}.` };
}
