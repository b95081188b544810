// The statuses of a run and the transitions between them.

/** agents.states.p3 */
export const FINAL_STATUSES = ["succeeded", "failed", "budget_exceeded", "cancelled"] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/** agents.states.p1, agents.states.p2: `waiting_input` and `sleeping` are reserved. */
export const STATUSES = [
  "queued",
  "running",
  "waiting_approval",
  "waiting_input",
  "sleeping",
  ...FINAL_STATUSES,
] as const;
export type Status = (typeof STATUSES)[number];

export const FINAL: ReadonlySet<Status> = new Set(FINAL_STATUSES);

export type RunEvent =
  | "start"
  | "request_approval"
  | "decide"
  | "succeed"
  | "fail"
  | "exceed_budget"
  | "cancel"
  | "ask_to_cancel";

/** Every transition; `ask_to_cancel` of a running run only sets `cancel_requested`. */
export const TRANSITIONS: Readonly<Record<Status, Readonly<Partial<Record<RunEvent, Status>>>>> = {
  // agents.states.queued_platform_start, agents.states.queued_post_v1_runs_id_cancel
  queued: { start: "running", ask_to_cancel: "cancelled" },
  running: {
    // agents.states.running_tool_call_needs_approval
    request_approval: "waiting_approval",
    // agents.states.running_model_and_tools_finish
    succeed: "succeeded",
    // agents.states.running_run_fails
    fail: "failed",
    // agents.states.running_priced_cost_reaches_max_cost
    exceed_budget: "budget_exceeded",
    // agents.states.running_cancel
    ask_to_cancel: "running",
    cancel: "cancelled",
  },
  waiting_approval: {
    // agents.states.waiting_approval_approve, agents.states.waiting_approval_reject
    decide: "running",
    // agents.states.waiting_approval_cancel
    ask_to_cancel: "cancelled",
  },
  waiting_input: {},
  sleeping: {},
  // agents.states.any_final_cancel
  succeeded: {},
  failed: {},
  budget_exceeded: {},
  cancelled: {},
};

/** Returns the next status; an unknown transition is a bug and throws before any write. */
export function transit(from: Status, event: RunEvent): Status {
  const to = TRANSITIONS[from][event];
  if (to === undefined) throw new Error(`a run that is ${from} cannot ${event}`);
  return to;
}

export const ENDINGS: Readonly<Record<FinalStatus, RunEvent>> = {
  succeeded: "succeed",
  failed: "fail",
  budget_exceeded: "exceed_budget",
  cancelled: "cancel",
};

/** agents.errors.active_runs_limit */
export function isActive(status: Status): boolean {
  return status === "queued" || status === "running";
}
