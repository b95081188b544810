// The transitions between statuses of a run.
import { describe, expect, test } from "bun:test";
import {
  ENDINGS,
  FINAL,
  isActive,
  STATUSES,
  TRANSITIONS,
  transit,
} from "../../../src/agents/runs/transitions.ts";

/** The spec's table, line by line: from, cause, to. */
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
    test(`${rule} ${from} becomes ${to} by ${happening}`, () => {
      expect(transit(from, happening)).toBe(to);
    });
  }

  test("agents.states.p1 has every status, and only the spec's transitions", () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...STATUSES].sort());
    const count = Object.values(TRANSITIONS).flatMap((row) => Object.keys(row)).length;
    expect(count).toBe(LINES.length);
  });

  test("agents.states.any_final_cancel nothing follows a final or a reserved status", () => {
    for (const status of [...FINAL, "waiting_input", "sleeping"] as const) {
      expect(TRANSITIONS[status]).toEqual({});
      expect(() => transit(status, "fail")).toThrow("cannot fail");
    }
  });

  test("agents.states.p3 each final status has its own cause", () => {
    for (const status of FINAL) {
      expect(transit("running", ENDINGS[status as keyof typeof ENDINGS])).toBe(status);
    }
  });

  test("agents.errors.active_runs_limit counts queued and running runs", () => {
    expect(STATUSES.filter(isActive)).toEqual(["queued", "running"]);
  });
});
