// A round that needs a person: its approvals, and the run that waits for them.
import { Type } from "@sinclair/typebox";
import { into, sql, type Tx } from "../../../platform/database/index.ts";
import { tellOutside } from "../../../platform/outbox/store.ts";
import { show } from "../../../platform/shape.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import { transit } from "../states.ts";
import { countActive } from "./ending.ts";

/** An approval as it is asked for, and the id of the event that tells of it. */
export interface Request {
  approval: ApprovalRow;
  event_id: string;
}

/** A part: writes what is asked of a person, beside the steps that say so. */
export async function requestApprovals(tx: Tx, requests: readonly Request[]): Promise<void> {
  for (const { approval, event_id } of requests) {
    await tx.run(sql`INSERT INTO approvals ${into(ApprovalRow, approval)}`);
    await tellOutside(tx, {
      id: event_id,
      account_id: approval.account_id,
      type: "approval.requested",
      at: approval.requested_at,
      data: { approval: show(Approval, approval) },
    });
  }
}

const Owner = Type.Object({ account_id: Type.String() });
const Asked = Type.Object({ cancel_requested: Type.Boolean() });

/** `cancelled`: it was asked to stop, and goes on for that alone; `lost`: another has it. */
export type Waiting = "waits" | "cancelled" | "lost";

const WAITING = transit("running", "request_approval");

/**
 * agents.states.running_tool_call_needs_approval: lets a run go until its approvals are decided.
 */
export async function beginWaiting(
  tx: Tx,
  run_id: string,
  epoch: number,
  worked_ms: number,
): Promise<Waiting> {
  const owner = await tx.one(
    Owner,
    sql`UPDATE runs SET status = ${WAITING}, epoch = 0, worked_ms = ${worked_ms}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' AND cancel_requested = 0
        RETURNING account_id`,
  );
  if (!owner) {
    const asked = await tx.one(
      Asked,
      sql`SELECT cancel_requested FROM runs WHERE id = ${run_id} AND epoch = ${epoch}`,
    );
    return asked?.cancel_requested ? "cancelled" : "lost";
  }
  await countActive(tx, owner.account_id, -1);
  tx.tell("run", run_id);
  return "waits";
}
