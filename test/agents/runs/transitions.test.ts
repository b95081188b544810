// The law of a run's life: what may follow what, and that nothing else does.
import { describe, expect, test } from "bun:test";
import {
  ENDINGS,
  FINAL,
  isActive,
  STATUSES,
  TRANSITIONS,
  transit,
} from "../../../src/agents/runs/transitions.ts";

/** The spec's table, line by line: from, by what, to. */
const LINES = [
  ["agents.states.queued_platform_start", "queued", "start", "running"],
  ["agents.states.queued_post_v1_runs_id_cancel", "queued", "ask_to_cancel", "cancelled"],
  [
    "agents.states.running_tool_call_needs_approval",
    "running",
    "request_approval",
    "waiting_approval",
  ],
  ["agents.states.running_model_and_tools_finish", "running", "succeed", "succeeded"],
  ["agents.states.running_run_fails", "running", "fail", "failed"],
  [
    "agents.states.running_priced_cost_reaches_max_cost",
    "running",
    "exceed_budget",
    "budget_exceeded",
  ],
  ["agents.states.running_cancel", "running", "ask_to_cancel", "running"],
  ["agents.states.running_cancel", "running", "cancel", "cancelled"],
  ["agents.states.waiting_approval_approve", "waiting_approval", "decide", "running"],
  ["agents.states.waiting_approval_cancel", "waiting_approval", "ask_to_cancel", "cancelled"],
] as const;

describe("the table of transitions", () => {
  for (const [rule, from, happening, to] of LINES) {
    test(`${rule} ${from} goes to ${to} by ${happening}`, () => {
      expect(transit(from, happening)).toBe(to);
    });
  }

  test("agents.states.p1 has every status, and nothing beside the spec's lines", () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...STATUSES].sort());
    const count = Object.values(TRANSITIONS).flatMap((row) => Object.keys(row)).length;
    expect(count).toBe(LINES.length);
  });

  test("agents.states.any_final_cancel nothing follows an end, nor what is reserved", () => {
    for (const status of [...FINAL, "waiting_input", "sleeping"] as const) {
      expect(TRANSITIONS[status]).toEqual({});
      expect(() => transit(status, "fail")).toThrow("cannot fail");
    }
  });

  test("agents.states.p3 every end is reached by its own happening", () => {
    for (const status of FINAL) {
      expect(transit("running", ENDINGS[status as keyof typeof ENDINGS])).toBe(status);
    }
  });

  test("agents.errors.active_runs_limit counts what is queued or running", () => {
    expect(STATUSES.filter(isActive)).toEqual(["queued", "running"]);
  });
});
