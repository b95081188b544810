// A round that needs a person: its approvals, and the run that waits for them.
import { Type } from "@sinclair/typebox";
import { into, sql, type Tx } from "../../../database/index.ts";
import { recordEvents } from "../../../outbox/store.ts";
import { show } from "../../../platform/schema.ts";
import { measureRow } from "../../../storage/store.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import { transit } from "../transitions.ts";
import { countActive } from "./finish.ts";
import { findRecorded, type Recorded, type RunRecord, record } from "./record.ts";
import { addBytes, settleStored } from "./stored-bytes.ts";

/** An approval as it is asked for, and the id of the event that tells of it. */
export interface ApprovalRequest {
  approval: ApprovalRow;
  event_id: string;
}

const Pending = Type.Object({ pending_approvals: Type.Array(Type.String()) });

/** A part: a record, and what is asked of a person with it; null: the process has lost the run. */
export async function recordAsking(
  tx: Tx,
  given: RunRecord,
  requests: readonly ApprovalRequest[],
): Promise<Recorded | null> {
  const earlier = await findRecorded(tx, given);
  if (earlier) return earlier;
  const recorded = await record(tx, given);
  if (recorded && requests.length > 0) await requestApprovals(tx, given.run_id, requests);
  return recorded;
}

/**
 * Writes what is asked of a person, beside the steps that say so. What the run waits for is
 * written here and where it is decided, and nowhere else: people decide while others work.
 */
async function requestApprovals(
  tx: Tx,
  run_id: string,
  requests: readonly ApprovalRequest[],
): Promise<void> {
  const run = await tx.one(Pending, sql`SELECT pending_approvals FROM runs WHERE id = ${run_id}`);
  const asked = requests.map(({ approval }) => approval.id);
  const pending = JSON.stringify([...run!.pending_approvals, ...asked]);
  const own = requests.reduce((sum, { approval }) => sum + measureApproval(approval), 0);
  await tx.run(
    sql`UPDATE runs SET pending_approvals = ${pending}, ${addBytes({ own, thread: 0 })}
        WHERE id = ${run_id}`,
  );
  for (const { approval, event_id } of requests) {
    await tx.run(sql`INSERT INTO approvals ${into(ApprovalRow, approval)}`);
    await recordEvents(tx, {
      id: event_id,
      account_id: approval.account_id,
      type: "approval.requested",
      at: approval.requested_at,
      data: { approval: show(Approval, approval) },
    });
  }
}

function measureApproval({ arguments: args, external_sources }: ApprovalRow): number {
  return measureRow(JSON.stringify(args), JSON.stringify(external_sources));
}

const Owner = Type.Object({ account_id: Type.String() });
const Asked = Type.Object({ cancel_requested: Type.Boolean() });

/**
 * `decided`: nothing is pending any more; `cancelled`: it was asked to stop, and goes on for that
 * alone; `lost`: another has it.
 */
export type WaitResultOfRun = "waits" | "decided" | "cancelled" | "lost";

const WAITING = transit("running", "request_approval");

/**
 * agents.states.running_tool_call_needs_approval: lets a run go until its approvals are decided.
 */
export async function beginWait(
  tx: Tx,
  run_id: string,
  epoch: number,
  worked_ms: number,
): Promise<WaitResultOfRun> {
  const owner = await tx.one(
    Owner,
    sql`UPDATE runs SET status = ${WAITING}, epoch = 0, worked_ms = ${worked_ms}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' AND cancel_requested = 0
          AND pending_approvals <> '[]'
        RETURNING account_id`,
  );
  if (!owner) {
    const asked = await tx.one(
      Asked,
      sql`SELECT cancel_requested FROM runs
          WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'`,
    );
    if (!asked) return "lost";
    return asked.cancel_requested ? "cancelled" : "decided";
  }
  await countActive(tx, owner.account_id, -1);
  await settleStored(tx, run_id);
  tx.tell("run", run_id);
  return "waits";
}
