// Decides approvals, for whoever may: a key or an operator.
import type { Static } from "@sinclair/typebox";
import type { Bound } from "../../database/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { AgentsDeps } from "../deps.ts";
import type { runStore } from "../runs/store/index.ts";
import type { Approval, ApprovalRow } from "./approval.ts";
import type { Decision } from "./decision-table.ts";

export interface DecisionRequest {
  approval_id: string;
  /** null: an operator decides, of whichever account's. */
  account_id: string | null;
  decision: Decision;
  reason: string | null;
  decided_by: NonNullable<Static<typeof Approval>["decided_by"]>;
}

/** The approval as it is then; what its state does not allow is refused. */
export async function decideApproval(
  { clock, ids }: Pick<AgentsDeps, "clock" | "ids">,
  runs: Pick<Bound<typeof runStore>, "decide">,
  wish: DecisionRequest,
): Promise<ApprovalRow> {
  const fresh = { step_id: ids.uuid(), event_id: ids.uuid() };
  const { approval, is_late } = await runs.decide({ ...wish, ...fresh, now: clock.now() });
  // agents.errors.approval_expired: that it is over is written by then, whatever clock comes next.
  if (is_late) throw apiError("approval_expired");
  return approval;
}
