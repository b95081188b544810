// Writes of a round: records that may ask for approvals, intents to send calls, and the wait for
// people's decisions.
import { Type } from "@sinclair/typebox";
import { into, sql, type Tx } from "../../../database/index.ts";
import { measureRow } from "../../../storage/store.ts";
import { ApprovalRow } from "../../approvals/approval.ts";
import { recordApprovalEvent } from "../../approvals/store.ts";
import { isDisabled } from "../../tools/http/store/index.ts";
import { transit } from "../transitions.ts";
import { countActive } from "./finish.ts";
import { findRecorded, type Recorded, type RunRecord, writeRecord } from "./record.ts";
import { addBytes, settleStored } from "./stored-bytes.ts";

export interface ApprovalRequest {
  approval: ApprovalRow;
  event_id: string;
}

/** Writes a record and the approvals that it requests; null: this process has lost the run. */
export async function recordRound(
  tx: Tx,
  record: RunRecord,
  requests: readonly ApprovalRequest[] = [],
): Promise<Recorded | null> {
  const earlier = await findRecorded(tx, record);
  if (earlier) return earlier;
  const recorded = await writeRecord(tx, record, requests.length === 0);
  if (recorded && requests.length > 0) await requestApprovals(tx, record.run_id, requests);
  return recorded;
}

const Pending = Type.Object({ pending_approvals: Type.Array(Type.String()) });

/** Pending approvals are written only here and with decisions: people decide while calls run. */
async function requestApprovals(
  tx: Tx,
  run_id: string,
  requests: readonly ApprovalRequest[],
): Promise<void> {
  const run = await tx.one(Pending, sql`SELECT pending_approvals FROM runs WHERE id = ${run_id}`);
  const requested = requests.map(({ approval }) => approval.id);
  const pending = JSON.stringify([...run!.pending_approvals, ...requested]);
  const own = requests.reduce((sum, { approval }) => sum + measureApproval(approval), 0);
  await tx.run(
    sql`UPDATE runs SET pending_approvals = ${pending}, ${addBytes({ own, thread: 0 })}
        WHERE id = ${run_id}`,
  );
  for (const { approval, event_id } of requests) {
    await tx.run(sql`INSERT INTO approvals ${into(ApprovalRow, approval)}`);
    const event = { id: event_id, at: approval.requested_at };
    await recordApprovalEvent(tx, "approval.requested", approval, event);
  }
}

function measureApproval({ arguments: args, external_sources }: ApprovalRow): number {
  return measureRow(JSON.stringify(args), JSON.stringify(external_sources));
}

/** Only `written` intents may be sent. */
export type Intent =
  | { kind: "written"; recorded: Recorded }
  | { kind: "tools_disabled"; tools: string[] }
  | { kind: "cancelled" | "lost" };

const CancelRequest = Type.Object({ cancel_requested: Type.Boolean() });

/**
 * Writes that calls are about to be sent. A tool disabled before this commit sends nothing, nor
 * does a run that was cancelled.
 */
export async function recordIntent(
  tx: Tx,
  record: RunRecord,
  account_id: string,
  tools: readonly string[],
): Promise<Intent> {
  const earlier = await findRecorded(tx, record);
  if (earlier) return { kind: "written", recorded: earlier };
  const { run_id, epoch } = record;
  const [run, areDisabled] = await Promise.all([
    findOwn(tx, run_id, epoch),
    Promise.all(tools.map((name) => isDisabled(tx, account_id, name))),
  ]);
  const disabled = tools.filter((_, at) => areDisabled[at]);
  if (disabled.length > 0) return { kind: "tools_disabled", tools: disabled };
  if (run?.cancel_requested) return { kind: "cancelled" };
  const recorded = await writeRecord(tx, record, true);
  return recorded ? { kind: "written", recorded } : { kind: "lost" };
}

function findOwn(tx: Tx, run_id: string, epoch: number) {
  return tx.one(
    CancelRequest,
    sql`SELECT cancel_requested FROM runs
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' ${tx.forUpdate}`,
  );
}

/** `decided`: no approval is pending any more. `lost`: another process has the run. */
export type WaitOutcome = "waiting" | "decided" | "cancelled" | "lost";

const Owner = Type.Object({ account_id: Type.String() });
const WAITING = transit("running", "request_approval");

/** agents.states.running_tool_call_needs_approval: releases a run until people have decided. */
export async function beginWait(
  tx: Tx,
  run_id: string,
  epoch: number,
  worked_ms: number,
): Promise<WaitOutcome> {
  const owner = await tx.one(
    Owner,
    sql`UPDATE runs SET status = ${WAITING}, epoch = 0, worked_ms = ${worked_ms}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' AND cancel_requested = 0
          AND pending_approvals <> '[]'
        RETURNING account_id`,
  );
  if (!owner) {
    const run = await findOwn(tx, run_id, epoch);
    if (!run) return "lost";
    return run.cancel_requested ? "cancelled" : "decided";
  }
  await countActive(tx, owner.account_id, -1);
  await settleStored(tx, run_id);
  tx.tell("run", run_id);
  return "waiting";
}
