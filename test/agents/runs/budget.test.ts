// Limits of each budget: an exactly reached budget is used up.
import { describe, expect, test } from "bun:test";
import { type Budgets, DEFAULT_BUDGETS } from "../../../src/agents/definitions/version.ts";
import { checkBudgets, checkCalls, remainingMs } from "../../../src/agents/runs/budget.ts";

const bounds: Budgets = {
  ...{ max_cost_sar: "0.000200", max_rounds: 5, max_tool_calls: 4 },
  ...{ max_total_tokens: 1_000, max_run_seconds: 60 },
};
const used = (fields: { priced?: number; total_tokens?: number; rounds?: number } = {}) => {
  const { priced = 199, total_tokens = 999, rounds = 4 } = fields;
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens, rounds, tool_calls: 2 };
  return { budgets: bounds, usage, priced };
};
const codeOf = (run: ReturnType<typeof used>, worked_ms = 59_999) =>
  checkBudgets(run, worked_ms)?.code ?? null;

describe("before a round", () => {
  test("agents.does.cost.3: a budget not quite reached lets it begin", () => {
    expect(codeOf(used())).toBeNull();
  });

  test.each([
    ["max_cost_sar", used({ priced: 200 }), 0],
    ["max_total_tokens", used({ total_tokens: 1_000 }), 0],
    ["max_rounds", used({ rounds: 5 }), 0],
    ["max_run_seconds", used(), 60_000],
  ] as const)("%s ends the run when exactly reached", (code, run, worked_ms) => {
    expect(codeOf(run, worked_ms)).toBe(code);
  });

  test("a budget without a bound never ends it", () => {
    const none = { ...bounds, max_cost_sar: null, max_total_tokens: null, max_run_seconds: null };
    const run = { ...used({ priced: 1e12, total_tokens: 1e12 }), budgets: none };
    expect(codeOf(run, 1e12)).toBeNull();
    expect(remainingMs(run, 5)).toBeNull();
  });
});

describe("after a reply with tool calls", () => {
  const check = (calls: number, rounds = 4) => checkCalls(used({ rounds }), calls)?.code ?? null;

  test("the remaining calls may run, one more ends the run", () => {
    expect([check(2), check(3)]).toEqual([null, "max_tool_calls"]);
  });

  test("the last round may not call tools", () => {
    expect([check(0, 5), check(1, 5)]).toEqual([null, "max_rounds"]);
  });

  test("a budget without a bound on calls allows any number", () => {
    const run = { ...used(), budgets: { ...DEFAULT_BUDGETS, max_tool_calls: null } };
    expect(checkCalls(run, 100_000)).toBeNull();
  });
});
