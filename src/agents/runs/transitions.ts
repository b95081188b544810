// The states of a run, and the one law by which it goes from one to the next.

/** agents.states.p1, agents.states.p2: `waiting_input` and `sleeping` exist and are reserved. */
export const STATUSES = [
  "queued",
  "running",
  "waiting_approval",
  "waiting_input",
  "sleeping",
  "succeeded",
  "failed",
  "budget_exceeded",
  "cancelled",
] as const;
export type Status = (typeof STATUSES)[number];
export type FinalStatus = "succeeded" | "failed" | "budget_exceeded" | "cancelled";

/** agents.states.p3 */
export const FINAL: ReadonlySet<Status> = new Set<Status>([
  "succeeded",
  "failed",
  "budget_exceeded",
  "cancelled",
]);

/** What can happen to a run. */
export type RunEvent =
  | "start"
  | "request_approval"
  | "decide"
  | "succeed"
  | "fail"
  | "exceed_budget"
  | "cancel"
  | "ask_to_cancel";

/**
 * The law of a run's life: from a status, by what happens, to the next. What is not here does not
 * happen; `ask_to_cancel` of a running run only sets `cancel_requested`.
 */
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
  // Reserved: nothing brings a run here.
  waiting_input: {},
  sleeping: {},
  // agents.states.any_final_cancel
  succeeded: {},
  failed: {},
  budget_exceeded: {},
  cancelled: {},
};

/** The next status; what the law does not know is a bug, and nothing is written of it. */
export function transit(from: Status, happening: RunEvent): Status {
  const to = TRANSITIONS[from][happening];
  if (to === undefined) throw new Error(`a run that is ${from} cannot ${happening}`);
  return to;
}

/** By what a run that is executed comes to each of its ends. */
export const ENDINGS: Readonly<Record<FinalStatus, RunEvent>> = {
  succeeded: "succeed",
  failed: "fail",
  budget_exceeded: "exceed_budget",
  cancelled: "cancel",
};

/** agents.errors.active_runs_limit: what counts as queued or running. */
export function isActive(status: Status): boolean {
  return status === "queued" || status === "running";
}
