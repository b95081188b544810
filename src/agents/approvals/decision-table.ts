// What a decision meets: the table of an approval's states by the two ways to decide.
import type { ErrorCode } from "../../platform/errors.ts";
import type { Approval } from "./approval.ts";

export type Decision = "approved" | "rejected";

/** `decide`: it takes effect; `same`: it was decided so already; else the refusal. */
export type DecisionEffect =
  | "decide"
  | "same"
  | Extract<ErrorCode, "approval_decided" | "approval_expired" | "approval_closed">;

type Standing = Approval["status"] | "overdue";

/** agents.states.p6: only what is pending is decided. */
const DECISIONS: Readonly<Record<Standing, Readonly<Record<Decision, DecisionEffect>>>> = {
  pending: { approved: "decide", rejected: "decide" },
  // agents.endpoints.approvals.after_expiry, agents.states.p9, agents.errors.approval_expired: also
  // before any sweep has come by.
  overdue: { approved: "approval_expired", rejected: "approval_expired" },
  // agents.endpoints.approvals.same_decision_again, agents.states.p7
  // agents.endpoints.approvals.opposite_decision_after_a_decision, agents.states.p8,
  // agents.errors.approval_decided
  approved: { approved: "same", rejected: "approval_decided" },
  rejected: { approved: "approval_decided", rejected: "same" },
  expired: { approved: "approval_expired", rejected: "approval_expired" },
  // agents.endpoints.approvals.cancelled_or_its_run_ended, agents.states.p10
  closed: { approved: "approval_closed", rejected: "approval_closed" },
};

export function resolveDecision(
  { status, expires_at }: Pick<Approval, "status" | "expires_at">,
  decision: Decision,
  now: number,
): DecisionEffect {
  const standing: Standing = status === "pending" && expires_at <= now ? "overdue" : status;
  return DECISIONS[standing][decision];
}
