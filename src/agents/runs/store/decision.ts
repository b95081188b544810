// Decisions on approvals, by people or by the clock: approval, step, event, and the run that may
// continue, in one transaction.
import { Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { show } from "../../../platform/schema.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import {
  type Decision,
  type DecisionOutcome,
  type DecisionRequest,
  resolveDecision,
} from "../../approvals/decision.ts";
import { recordApprovalEvent } from "../../approvals/store.ts";
import { RunRow } from "../run.ts";
import type { NewStep } from "../step.ts";
import { transit } from "../transitions.ts";
import { countActive } from "./finish.ts";
import { addSteps } from "./record.ts";

export interface DecisionInput extends DecisionRequest {
  step_id: string;
  event_id: string;
  now: number;
}

export async function decide(tx: Tx, input: DecisionInput): Promise<DecisionOutcome> {
  const { approval_id, account_id, decision, reason, decided_by, now } = input;
  await lockRun(tx, approval_id);
  const approval = await tx.one(
    ApprovalRow,
    sql`SELECT * FROM approvals WHERE id = ${approval_id}`,
  );
  // agents.endpoints.approvals.approval_missing_or_owned_by
  if (!approval || (account_id !== null && approval.account_id !== account_id)) {
    throw apiError("approval_not_found");
  }
  const effect = resolveDecision(approval, decision, now);
  if (effect === "same") return { approval, isLate: false };
  // Written now, so that no process with a slow clock can decide it any more.
  const expired = effect === "approval_expired" ? await expireOne(tx, input) : undefined;
  if (expired) return { approval: expired, isLate: true };
  if (effect !== "decide") throw apiError(effect);
  const decided = await tx.one(
    ApprovalRow,
    sql`UPDATE approvals SET status = ${decision}, reason = ${reason}, decided_at = ${now},
          decided_by = ${JSON.stringify(decided_by)}
        WHERE id = ${approval_id} AND status = 'pending' AND expires_at > ${now} RETURNING *`,
  );
  await continueRun(tx, decided!, input);
  return { approval: decided!, isLate: false };
}

const Id = Type.Object({ id: Type.String() });

/** Before its approval, in the order of writes that end a run: else both could wait for ever. */
async function lockRun(tx: Tx, approval_id: string): Promise<void> {
  const run_id = sql`SELECT run_id FROM approvals WHERE id = ${approval_id}`;
  await tx.one(Id, sql`SELECT id FROM runs WHERE id = (${run_id}) ${tx.forUpdate}`);
}

export interface Overdue {
  approval_id: string;
  step_id: string;
  event_id: string;
}

/** agents.does.risk.p1: expires undecided approvals, and returns their number. */
export async function expire(tx: Tx, overdue: readonly Overdue[], now: number): Promise<number> {
  let expired = 0;
  for (const one of overdue) if (await expireOne(tx, { ...one, now })) expired++;
  return expired;
}

async function expireOne(
  tx: Tx,
  { approval_id, ...fresh }: Overdue & { now: number },
): Promise<ApprovalRow | undefined> {
  const { now } = fresh;
  await lockRun(tx, approval_id);
  const expired = await tx.one(
    ApprovalRow,
    sql`UPDATE approvals SET status = 'expired', decided_at = ${now}
        WHERE id = ${approval_id} AND status = 'pending' AND expires_at <= ${now} RETURNING *`,
  );
  if (expired) await continueRun(tx, expired, fresh);
  return expired;
}

/** agents.states.waiting_approval_approve: the last decision returns the run to the queue. */
async function continueRun(
  tx: Tx,
  approval: ApprovalRow,
  { step_id, event_id, now }: Pick<DecisionInput, "step_id" | "event_id" | "now">,
): Promise<void> {
  const { run_id, account_id } = approval;
  const run = (await tx.one(RunRow, sql`SELECT * FROM runs WHERE id = ${run_id}`))!;
  const pending = run.pending_approvals.filter((id) => id !== approval.id);
  const isFree = run.status === "waiting_approval" && pending.length === 0;
  const status = isFree ? transit(run.status, "decide") : run.status;
  const last_seq = run.last_seq + 1;
  await tx.run(
    sql`UPDATE runs SET status = ${status}, pending_approvals = ${JSON.stringify(pending)},
          last_seq = ${last_seq}
        WHERE id = ${run_id}`,
  );
  const event = approval.status as Decision | "expired";
  const step: NewStep = {
    id: step_id,
    kind: "approval",
    round: run.usage.rounds,
    data: { event, approval: show(Approval, approval) },
  };
  // The status before the decision lets event streams report that the run had waited.
  await addSteps(tx, run_id, [step], { last_seq, at: now, status: run.status });
  await recordApprovalEvent(tx, "approval.decided", approval, { id: event_id, at: now });
  if (isFree) {
    await countActive(tx, account_id, 1);
    tx.tell("runs.queued", account_id);
  }
  tx.tell("run", run_id);
}
