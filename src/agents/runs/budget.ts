// Budgets of a run, checked before each round and after each reply.
import { parseMoney } from "../../platform/money.ts";
import type { Budgets } from "../definitions/version.ts";
import type { RunRow } from "./run.ts";

/** A budget that is used up; its name is the error code. */
export interface Exceeded {
  code: keyof Budgets;
  message: string;
}

type Used = Pick<RunRow, "budgets" | "usage" | "priced">;

/** agents.does.cost.3: only known prices count. */
export function checkBudgets(run: Used, workedMs: number): Exceeded | null {
  const { budgets, usage, priced } = run;
  const { max_cost_sar, max_total_tokens, max_rounds } = budgets;
  if (max_cost_sar !== null && priced >= parseMoney(max_cost_sar)) {
    return exceeded("max_cost_sar", `it has cost ${max_cost_sar} SAR or more`);
  }
  if (max_total_tokens !== null && usage.total_tokens >= max_total_tokens) {
    return exceeded("max_total_tokens", `it has used ${usage.total_tokens} tokens`);
  }
  if (usage.rounds >= max_rounds) {
    return exceeded("max_rounds", `it has used all of its ${max_rounds} rounds`);
  }
  const leftMs = remainingMs(run, workedMs);
  return leftMs !== null && leftMs <= 0 ? checkTime(run) : null;
}

export function remainingMs({ budgets }: Pick<RunRow, "budgets">, workedMs: number): number | null {
  const { max_run_seconds } = budgets;
  return max_run_seconds === null ? null : max_run_seconds * 1000 - workedMs;
}

export function checkTime({ budgets }: Pick<RunRow, "budgets">): Exceeded {
  return exceeded("max_run_seconds", `it has worked for ${budgets.max_run_seconds} seconds`);
}

/** Checks the calls of a reply; in the last allowed round, a reply may not call tools. */
export function checkCalls({ budgets, usage }: Used, calls: number): Exceeded | null {
  if (calls === 0) return null;
  if (usage.rounds >= budgets.max_rounds) {
    return exceeded("max_rounds", `its last round of ${budgets.max_rounds} still asked for tools`);
  }
  const { max_tool_calls } = budgets;
  if (max_tool_calls !== null && usage.tool_calls + calls > max_tool_calls) {
    return exceeded("max_tool_calls", `it asked for more than ${max_tool_calls} tool calls`);
  }
  return null;
}

function exceeded(code: keyof Budgets, what: string): Exceeded {
  return { code, message: `The run ended at its budget ${code}: ${what}.` };
}
