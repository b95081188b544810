// Decisions on approvals: which statuses allow which, and the one way in for keys and operators.
import type { Static } from "@sinclair/typebox";
import { apiError, type ErrorCode } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import type { Approval, ApprovalRow, ApprovalStatus } from "./approval.ts";

export type Decision = "approved" | "rejected";

/** `same`: already decided that way. An error code rejects the decision. */
export type DecisionEffect =
  | "decide"
  | "same"
  | Extract<ErrorCode, "approval_decided" | "approval_expired" | "approval_closed">;

type DecidedStatus = ApprovalStatus | "overdue";

/** agents.states.p6: only pending approvals are decided. */
const DECISIONS: Readonly<Record<DecidedStatus, Readonly<Record<Decision, DecisionEffect>>>> = {
  pending: { approved: "decide", rejected: "decide" },
  // agents.endpoints.approvals.after_expiry, agents.states.p9, agents.errors.approval_expired: even
  // before the expiry service has written it.
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
  const decided: DecidedStatus = status === "pending" && expires_at <= now ? "overdue" : status;
  return DECISIONS[decided][decision];
}

export interface DecisionRequest {
  approval_id: string;
  /** Account of the deciding key; null for operators, who decide for every account. */
  account_id: string | null;
  decision: Decision;
  reason: string | null;
  decided_by: NonNullable<Static<typeof Approval>["decided_by"]>;
}

export interface DecisionOutcome {
  approval: ApprovalRow;
  /** The decision came after `expires_at`, and the approval was expired instead. */
  isLate: boolean;
}

interface DecisionStore {
  decide(
    input: DecisionRequest & { step_id: string; event_id: string; now: number },
  ): Promise<DecisionOutcome>;
}

export async function decideApproval(
  { clock, ids }: Pick<AgentsDeps, "clock" | "ids">,
  runs: DecisionStore,
  request: DecisionRequest,
): Promise<ApprovalRow> {
  const fresh = { step_id: ids.uuid(), event_id: ids.uuid() };
  const { approval, isLate } = await runs.decide({ ...request, ...fresh, now: clock.now() });
  // agents.errors.approval_expired: thrown after the commit that wrote the expiry.
  if (isLate) throw apiError("approval_expired");
  return approval;
}
