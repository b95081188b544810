// The end of approvals whose run ends before anybody has decided.
import { sql, type Tx } from "../../../platform/database/index.ts";
import { tellOutside } from "../../../platform/outbox/store.ts";
import { show } from "../../../platform/shape.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import type { RunRow, Status } from "../run.ts";
import type { NewStep } from "../step.ts";
import { addSteps } from "./record.ts";

/** Ids that nobody has used, of which a write takes as many as it needs. */
export type FreshIds = readonly string[];

/** An approval that is closed takes two, its run one for a step or its event. */
export const countEndingIds = (approvals: number): number => 2 * approvals + 1;

/**
 * agents.errors.approval_closed: a part, behind the row of a run that has become final. `status`:
 * where the run was before.
 */
export async function closeApprovals(
  tx: Tx,
  run: RunRow,
  status: Status,
  fresh: FreshIds,
  now: number,
): Promise<RunRow> {
  if (run.pending_approvals.length === 0) return run;
  const closed = await tx.all(
    ApprovalRow,
    sql`UPDATE approvals SET status = 'closed', decided_at = ${now}
        WHERE run_id = ${run.id} AND status = 'pending' RETURNING *`,
  );
  closed.sort((one, other) => (one.id < other.id ? -1 : 1));
  const ids = [...fresh];
  const steps: NewStep[] = closed.map((approval) => ({
    id: ids.pop()!,
    kind: "approval",
    round: run.usage.rounds,
    data: { event: "closed", approval: show(Approval, approval) },
  }));
  const last_seq = run.last_seq + steps.length;
  await addSteps(tx, run.id, steps, { last_seq, at: now, status });
  await tx.run(
    sql`UPDATE runs SET pending_approvals = '[]', last_seq = ${last_seq} WHERE id = ${run.id}`,
  );
  for (const approval of closed) {
    await tellOutside(tx, {
      id: ids.pop()!,
      account_id: run.account_id,
      type: "approval.decided",
      at: now,
      data: { approval: show(Approval, approval) },
    });
  }
  return { ...run, pending_approvals: [], last_seq };
}
