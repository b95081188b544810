// The end of what is open when a run ends: approvals that nobody has decided, calls without result.
import { type Static, Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { recordEvents } from "../../../outbox/store.ts";
import { show } from "../../../platform/schema.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import type { NewMessage } from "../../threads/thread.ts";
import { isSent } from "../calls/open-calls.ts";
import { writeToolMessage, writeUnfinished } from "../calls/result.ts";
import type { RunRow } from "../run.ts";
import type { NewStep, ToolCallData } from "../step.ts";
import type { Status } from "../transitions.ts";
import { addSteps, writeRecord } from "./record.ts";
import { addBytes, measureRecord } from "./stored-bytes.ts";

/** Ids that nobody has used, of which a write takes as many as it needs. */
export type FreshIds = readonly string[];

/** No round has more calls that wait for a result. */
const OPEN_CALLS_MAX = 32;

/** An approval that is closed takes two, its run one for a step or its event. */
export const countApprovalIds = (approvals: number): number => 2 * approvals + 1;

/** Where nobody knows how many calls are open, each of which takes two. */
export const countEndingIds = (approvals: number): number =>
  countApprovalIds(approvals) + 2 * OPEN_CALLS_MAX;

const Call = Type.Object({ kind: Type.String(), data: Type.Unknown() });
type Call = Static<typeof Call>;

/** A part: `closeApprovals`, and a result for each call of a run that nobody executes. */
export async function closeRun(
  tx: Tx,
  run: RunRow,
  status: Status,
  fresh: FreshIds,
  now: number,
): Promise<RunRow> {
  const ids = [...fresh];
  const steps: NewStep[] = [];
  const messages: NewMessage[] = [];
  let { tool_calls } = run.usage;
  for (const call of await listOpenCalls(tx, run)) {
    if (isSent(call)) tool_calls++;
    const data = writeUnfinished(call);
    steps.push({ id: ids.pop()!, kind: "tool_result", round: run.usage.rounds, data });
    messages.push(writeToolMessage(data, ids.pop()!));
  }
  if (steps.length === 0) return closeApprovals(tx, run, status, ids, now);
  const last_seq = run.last_seq + steps.length;
  const message_seq = run.message_seq + messages.length;
  await tx.run(
    sql`UPDATE runs SET last_seq = ${last_seq}, message_seq = ${message_seq},
          usage_tool_calls = ${tool_calls},
          ${addBytes(measureRecord({ steps, messages, outputs: [] }))}
        WHERE id = ${run.id}`,
  );
  const place = { ...run, last_seq, message_seq };
  const record = {
    run_id: run.id,
    at: now,
    progress: run,
    outputs: [],
    effects: [],
    summary: null,
  };
  await writeRecord(tx, { ...record, steps, messages }, place, status);
  const usage = { ...run.usage, tool_calls };
  return closeApprovals(tx, { ...run, last_seq, message_seq, usage }, status, ids, now);
}

async function listOpenCalls(tx: Tx, { id, usage, last_seq }: RunRow): Promise<ToolCallData[]> {
  if (last_seq === 0) return [];
  const steps = await tx.all(
    Call,
    sql`SELECT kind, data FROM steps WHERE run_id = ${id} AND round = ${usage.rounds}
          AND kind IN ('tool_call', 'tool_result') ORDER BY seq`,
  );
  const idOf = ({ data }: Call) => (data as ToolCallData).tool_call_id;
  const isResult = ({ kind }: Call) => kind === "tool_result";
  const answered = new Set(steps.filter(isResult).map(idOf));
  const open = steps.filter((step) => !isResult(step) && !answered.has(idOf(step)));
  // A call that is sent again has several steps, and one result.
  return [...new Map(open.map((step) => [idOf(step), step.data as ToolCallData])).values()];
}

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
    // One whose time was over has expired, whoever comes by first.
    sql`UPDATE approvals SET decided_at = ${now},
          status = CASE WHEN expires_at <= ${now} THEN 'expired' ELSE 'closed' END
        WHERE run_id = ${run.id} AND status = 'pending' RETURNING *`,
  );
  closed.sort((one, other) => (one.id < other.id ? -1 : 1));
  const ids = [...fresh];
  const steps: NewStep[] = closed.map((approval) => ({
    id: ids.pop()!,
    kind: "approval",
    round: run.usage.rounds,
    data: { event: approval.status as "closed" | "expired", approval: show(Approval, approval) },
  }));
  const last_seq = run.last_seq + steps.length;
  await addSteps(tx, run.id, steps, { last_seq, at: now, status });
  await tx.run(
    sql`UPDATE runs SET pending_approvals = '[]', last_seq = ${last_seq} WHERE id = ${run.id}`,
  );
  for (const approval of closed) {
    await recordEvents(tx, {
      id: ids.pop()!,
      account_id: run.account_id,
      type: "approval.decided",
      at: now,
      data: { approval: show(Approval, approval) },
    });
  }
  return { ...run, pending_approvals: [], last_seq };
}
