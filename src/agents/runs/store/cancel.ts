// Cancelling, by the state in which a run is.
import { sql, type Tx } from "../../../platform/database/index.ts";
import { tellOutside } from "../../../platform/outbox/store.ts";
import { show } from "../../../platform/shape.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import { FINAL, RunRow } from "../run.ts";
import type { NewStep } from "../step.ts";
import { settleEnding } from "./ending.ts";
import { addSteps } from "./record.ts";

/** Fresh ids, of which a cancel takes as many as it needs. */
export type FreshIds = readonly string[];

/** An approval that is closed takes two, its run one for a step or its event. */
export const countCancelIds = (approvals: number): number => 2 * approvals + 1;

/**
 * The run as it is afterwards; undefined: it is not the account's. An `account_id` of null is the
 * operator's.
 */
export async function cancel(
  tx: Tx,
  run_id: string,
  account_id: string | null,
  fresh: FreshIds,
  now: number,
): Promise<RunRow | undefined> {
  const run = await tx.one(RunRow, sql`SELECT * FROM runs WHERE id = ${run_id}`);
  if (!run || (account_id !== null && run.account_id !== account_id)) return undefined;
  // agents.states.any_final_cancel
  if (FINAL.has(run.status)) return run;
  if (run.status === "running") return askToCancel(tx, run, fresh[0]!, now);
  // agents.states.queued_post_v1_runs_id_cancel, agents.states.waiting_approval_cancel
  return cancelAtOnce(tx, run, fresh, now);
}

/** agents.states.running_cancel: the run stops at its next step. */
async function askToCancel(tx: Tx, run: RunRow, step_id: string, now: number): Promise<RunRow> {
  if (run.cancel_requested) return run;
  const last_seq = run.last_seq + 1;
  await tx.run(
    sql`UPDATE runs SET cancel_requested = 1, last_seq = ${last_seq} WHERE id = ${run.id}`,
  );
  const data = { event: "cancel_requested" as const, message: "The run was asked to stop." };
  const step: NewStep = { id: step_id, kind: "system", round: run.usage.rounds, data };
  await addSteps(tx, run.id, [step], { last_seq, at: now, status: run.status });
  tx.tell("run", run.id);
  tx.tell("run.cancel", run.id);
  return { ...run, cancel_requested: true, last_seq };
}

async function cancelAtOnce(tx: Tx, run: RunRow, fresh: FreshIds, now: number): Promise<RunRow> {
  const ids = [...fresh];
  const event_id = ids.pop()!;
  const closed = await closeApprovals(tx, run, now);
  const steps: NewStep[] = closed.map((approval) => ({
    id: ids.pop()!,
    kind: "approval",
    round: run.usage.rounds,
    data: { event: "closed", approval: show(Approval, approval) },
  }));
  const last_seq = run.last_seq + steps.length;
  const error = { code: "cancelled", message: "The run was cancelled." };
  const row = await tx.one(
    RunRow,
    sql`UPDATE runs SET status = 'cancelled', finished_at = ${now}, epoch = 0,
          pending_approvals = '[]', last_seq = ${last_seq}, error = ${JSON.stringify(error)}
        WHERE id = ${run.id} RETURNING *`,
  );
  await addSteps(tx, run.id, steps, { last_seq, at: now, status: run.status });
  for (const approval of closed) {
    await tellOutside(tx, {
      id: ids.pop()!,
      account_id: run.account_id,
      type: "approval.decided",
      at: now,
      data: { approval: show(Approval, approval) },
    });
  }
  await settleEnding(tx, row!, event_id, run.status === "queued");
  tx.tell("run", run.id);
  return row!;
}

/** agents.errors.approval_closed: a part, for every end of a run. */
export async function closeApprovals(tx: Tx, run: RunRow, now: number): Promise<ApprovalRow[]> {
  if (run.pending_approvals.length === 0) return [];
  const closed = await tx.all(
    ApprovalRow,
    sql`UPDATE approvals SET status = 'closed', decided_at = ${now}
        WHERE run_id = ${run.id} AND status = 'pending' RETURNING *`,
  );
  return closed.sort((one, other) => (one.id < other.id ? -1 : 1));
}
