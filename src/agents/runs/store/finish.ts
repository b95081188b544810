// The end of a run for any cause: open calls and approvals are closed, sums of the day counted,
// and the event recorded. Includes cancels by people.
import { type Static, Type } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { recordEvents } from "../../../outbox/store.ts";
import { writeDay } from "../../../platform/calendar.ts";
import { show } from "../../../platform/schema.ts";
import { Approval, ApprovalRow } from "../../approvals/approval.ts";
import { recordApprovalEvent } from "../../approvals/store.ts";
import type { NewMessage } from "../../threads/thread.ts";
import { cancelledResult, isSent, toolMessage } from "../calls/open-calls.ts";
import { Run, RunRow } from "../run.ts";
import type { NewStep, ToolCallData } from "../step.ts";
import { ENDINGS, type FinalStatus, isActive, TRANSITIONS, transit } from "../transitions.ts";
import {
  addSteps,
  hasMore,
  insertExtras,
  insertRecord,
  measureRecord,
  type RunRecord,
  setProgress,
} from "./record.ts";
import { addBytes, settleLast } from "./stored-bytes.ts";

/** Unused ids, of which a write takes as many as it needs. */
export type FreshIds = readonly string[];

const OPEN_CALLS_MAX = 32;

/** Ids for closing approvals, two each, and one for the run's event or step. */
export const countApprovalIds = (approvals: number): number => 2 * approvals + 1;

/** Ids where the number of open calls, which take two each, is unknown. */
export const countFinishIds = (approvals: number): number =>
  countApprovalIds(approvals) + 2 * OPEN_CALLS_MAX;

export interface RunFinish {
  status: FinalStatus;
  error: Static<typeof Run>["error"];
  event_id: string;
  fresh: FreshIds;
}

/** Writes the last record of a run; false: this process has lost the run. */
export async function finish(tx: Tx, record: RunRecord, end: RunFinish): Promise<boolean> {
  const { run_id, epoch, at, steps, messages } = record;
  const to = transit("running", ENDINGS[end.status]);
  const row = await tx.one(
    RunRow,
    sql`UPDATE runs SET ${setProgress(record.progress)}, last_seq = last_seq + ${steps.length},
          message_seq = message_seq + ${messages.length}, status = ${to},
          error = ${end.error === null ? null : JSON.stringify(end.error)},
          finished_at = ${at}, epoch = 0, ${addBytes(measureRecord(record))}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' RETURNING *`,
  );
  if (!row) return false;
  tx.tell("run", run_id);
  const inserting = Promise.all([
    insertRecord(tx, record, { ...row, before: "running" }),
    insertExtras(tx, record, row),
  ]);
  if (row.pending_approvals.length > 0) {
    const closing = closeApprovals(tx, row, { before: "running", ids: [...end.fresh], at });
    const [, closed] = await Promise.all([inserting, closing]);
    await reportFinish(tx, closed, end.event_id, "running");
    return true;
  }
  const reporting = reportFinish(tx, row, end.event_id, "running");
  if (!hasMore(record)) tx.commitEarly();
  await Promise.all([inserting, reporting]);
  return true;
}

/**
 * Cancels a run by its status and returns it; undefined: not found for the account. Operators pass
 * null as account.
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
  const to = TRANSITIONS[run.status].ask_to_cancel;
  // agents.states.any_final_cancel
  if (to === undefined) return run;
  if (to === run.status) return requestCancel(tx, run, fresh[0]!, now);
  // agents.states.queued_post_v1_runs_id_cancel, agents.states.waiting_approval_cancel
  const error = { code: "cancelled", message: "The run was cancelled." };
  return endIdle(tx, run, { status: to, error }, fresh, now);
}

/** agents.states.running_cancel, agents.states.p5: the run stops at its next step. */
async function requestCancel(tx: Tx, run: RunRow, step_id: string, now: number): Promise<RunRow> {
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

/** Part of a transaction: ends a run that no process executes. */
export async function endIdle(
  tx: Tx,
  run: RunRow,
  { status, error }: Pick<RunRow, "status" | "error">,
  [event_id, ...fresh]: FreshIds,
  now: number,
): Promise<RunRow> {
  const row = await tx.one(
    RunRow,
    sql`UPDATE runs SET status = ${status}, finished_at = ${now}, epoch = 0,
          error = ${JSON.stringify(error)}
        WHERE id = ${run.id} RETURNING *`,
  );
  const closing: Closing = { before: run.status, ids: fresh, at: now };
  const closed = await closeApprovals(tx, await closeCalls(tx, row!, closing), closing);
  await reportFinish(tx, closed, event_id!, run.status);
  tx.tell("run", run.id);
  return closed;
}

interface Closing {
  before: RunRow["status"];
  ids: string[];
  at: number;
}

const Call = Type.Object({ kind: Type.String(), data: Type.Unknown() });
type CallStep = Static<typeof Call>;

async function closeCalls(tx: Tx, run: RunRow, { before, ids, at }: Closing): Promise<RunRow> {
  const steps: NewStep[] = [];
  const messages: NewMessage[] = [];
  let { tool_calls } = run.usage;
  for (const call of await listOpenCalls(tx, run)) {
    if (isSent(call)) tool_calls++;
    const data = cancelledResult(call);
    steps.push({ id: ids.pop()!, kind: "tool_result", round: run.usage.rounds, data });
    messages.push(toolMessage(data, ids.pop()!));
  }
  if (steps.length === 0) return run;
  const added = { steps, messages, outputs: [] };
  const closed = {
    ...run,
    last_seq: run.last_seq + steps.length,
    message_seq: run.message_seq + messages.length,
    usage: { ...run.usage, tool_calls },
  };
  await tx.run(
    sql`UPDATE runs SET last_seq = ${closed.last_seq}, message_seq = ${closed.message_seq},
          usage_tool_calls = ${tool_calls}, ${addBytes(measureRecord(added))}
        WHERE id = ${run.id}`,
  );
  await insertRecord(tx, { run_id: run.id, at, ...added }, { ...closed, before });
  return closed;
}

async function listOpenCalls(tx: Tx, { id, usage, last_seq }: RunRow): Promise<ToolCallData[]> {
  if (last_seq === 0) return [];
  const steps = await tx.all(
    Call,
    sql`SELECT kind, data FROM steps WHERE run_id = ${id} AND round = ${usage.rounds}
          AND kind IN ('tool_call', 'tool_result') ORDER BY seq`,
  );
  const idOf = ({ data }: CallStep) => (data as ToolCallData).tool_call_id;
  const isResult = ({ kind }: CallStep) => kind === "tool_result";
  const answered = new Set(steps.filter(isResult).map(idOf));
  const open = steps.filter((step) => !isResult(step) && !answered.has(idOf(step)));
  // A call that was sent again has several steps; the last one counts.
  return [...new Map(open.map((step) => [idOf(step), step.data as ToolCallData])).values()];
}

/** agents.errors.approval_closed: closes what is pending, once the row of the run is final. */
async function closeApprovals(tx: Tx, run: RunRow, { before, ids, at }: Closing): Promise<RunRow> {
  if (run.pending_approvals.length === 0) return run;
  const closed = await tx.all(
    ApprovalRow,
    // An overdue approval has expired, even if the expiry service has not written it yet.
    sql`UPDATE approvals SET decided_at = ${at},
          status = CASE WHEN expires_at <= ${at} THEN 'expired' ELSE 'closed' END
        WHERE run_id = ${run.id} AND status = 'pending' RETURNING *`,
  );
  closed.sort((one, other) => (one.id < other.id ? -1 : 1));
  const steps: NewStep[] = closed.map((approval) => ({
    id: ids.pop()!,
    kind: "approval",
    round: run.usage.rounds,
    data: { event: approval.status as "closed" | "expired", approval: show(Approval, approval) },
  }));
  const last_seq = run.last_seq + steps.length;
  await addSteps(tx, run.id, steps, { last_seq, at, status: before });
  await tx.run(
    sql`UPDATE runs SET pending_approvals = '[]', last_seq = ${last_seq} WHERE id = ${run.id}`,
  );
  for (const approval of closed) {
    await recordApprovalEvent(tx, "approval.decided", approval, { id: ids.pop()!, at });
  }
  return { ...run, pending_approvals: [], last_seq };
}

/** Names the status too, so that it is counted without a read. */
function writeEnd({ status, id }: RunRow): string {
  return `${status} ${id}`;
}

export function readEnd(text: string): { status: FinalStatus; id: string } {
  const [status, id] = text.split(" ");
  return { status: status as FinalStatus, id: id! };
}

async function reportFinish(
  tx: Tx,
  row: RunRow,
  event_id: string,
  before: RunRow["status"],
): Promise<void> {
  tx.tell("run.ended", writeEnd(row));
  await Promise.all([
    settleLast(tx, row.id),
    isActive(before) && countActive(tx, row.account_id, -1),
    addToDay(tx, row),
    // A receiver that acts on answers would act again.
    row.rerun_tools !== "recorded" &&
      recordEvents(tx, {
        id: event_id,
        account_id: row.account_id,
        // agents.events.webhook.4, agents.states.p4: every final status but `succeeded`.
        type: row.status === "succeeded" ? "run.completed" : "run.failed",
        at: row.finished_at!,
        data: { run: show(Run, row) },
      }),
  ]);
}

/** Part of a transaction: adds to the number of queued and running runs of an account. */
export async function countActive(tx: Tx, account_id: string, added: number): Promise<void> {
  await tx.run(
    sql`UPDATE run_counts SET active = active + ${added} WHERE account_id = ${account_id}`,
  );
}

/** agents.endpoints.usage.1: a run counts on the day it finished, in UTC. */
async function addToDay(tx: Tx, row: RunRow): Promise<void> {
  const day = writeDay(row.finished_at!);
  const { usage, cost, status } = row;
  const is = (one: FinalStatus) => (status === one ? 1 : 0);
  const unpriced = cost.total === null ? 1 : 0;
  await tx.run(
    sql`INSERT INTO run_days (account_id, day, agent_id, runs, succeeded, failed, budget_exceeded,
          cancelled, prompt_tokens, completion_tokens, total_tokens, tool_calls, cost_sar,
          unpriced_runs)
        VALUES (${row.account_id}, ${day}, ${row.agent_id}, 1, ${is("succeeded")},
          ${is("failed")}, ${is("budget_exceeded")}, ${is("cancelled")}, ${usage.prompt_tokens},
          ${usage.completion_tokens}, ${usage.total_tokens}, ${usage.tool_calls}, ${cost.total},
          ${unpriced})
        ON CONFLICT (account_id, day, agent_id) DO UPDATE SET
          runs = run_days.runs + 1, succeeded = run_days.succeeded + excluded.succeeded,
          failed = run_days.failed + excluded.failed,
          budget_exceeded = run_days.budget_exceeded + excluded.budget_exceeded,
          cancelled = run_days.cancelled + excluded.cancelled,
          prompt_tokens = run_days.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = run_days.completion_tokens + excluded.completion_tokens,
          total_tokens = run_days.total_tokens + excluded.total_tokens,
          tool_calls = run_days.tool_calls + excluded.tool_calls,
          cost_sar = COALESCE(run_days.cost_sar + excluded.cost_sar, run_days.cost_sar,
            excluded.cost_sar),
          unpriced_runs = run_days.unpriced_runs + excluded.unpriced_runs`,
  );
}
