// The borders of each budget: what is reached is used up, and the last of it may still be used.
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
  test("agents.does.cost.3: a budget that is all but reached lets it begin", () => {
    expect(codeOf(used())).toBeNull();
  });

  test.each([
    ["max_cost_sar", used({ priced: 200 }), 0],
    ["max_total_tokens", used({ total_tokens: 1_000 }), 0],
    ["max_rounds", used({ rounds: 5 }), 0],
    ["max_run_seconds", used(), 60_000],
  ] as const)("%s ends the run when it is just reached", (code, run, worked_ms) => {
    expect(codeOf(run, worked_ms)).toBe(code);
  });

  test("what has no bound never ends it", () => {
    const none = { ...bounds, max_cost_sar: null, max_total_tokens: null, max_run_seconds: null };
    const run = { ...used({ priced: 1e12, total_tokens: 1e12 }), budgets: none };
    expect(codeOf(run, 1e12)).toBeNull();
    expect(remainingMs(run, 5)).toBeNull();
  });
});

describe("behind a reply that asks for tools", () => {
  const check = (calls: number, rounds = 4) => checkCalls(used({ rounds }), calls)?.code ?? null;

  test("so many as are left may run, one more ends the run", () => {
    expect([check(2), check(3)]).toEqual([null, "max_tool_calls"]);
  });

  test("the last round may ask for none", () => {
    expect([check(0, 5), check(1, 5)]).toEqual([null, "max_rounds"]);
  });

  test("a budget without that bound allows any number", () => {
    const run = { ...used(), budgets: { ...DEFAULT_BUDGETS, max_tool_calls: null } };
    expect(checkCalls(run, 100_000)).toBeNull();
  });
});
