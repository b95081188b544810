// How a run ends, whatever ended it: its row, its sums of the day, and the event that tells of it.

import type { Static } from "@sinclair/typebox";
import { sql, type Tx } from "../../../database/index.ts";
import { recordEvents } from "../../../outbox/store.ts";
import { writeDay } from "../../../platform/calendar.ts";
import { show } from "../../../platform/schema.ts";
import { Run, RunRow } from "../run.ts";
import { ENDINGS, type FinalStatus, isActive, type Status, transit } from "../transitions.ts";
import { closeApprovals, type FreshIds } from "./close.ts";
import { type RunRecord, setProgress, writeRecord } from "./record.ts";
import { addBytes, measureRecord, settleLast } from "./stored-bytes.ts";

export interface RunFinish {
  status: FinalStatus;
  error: Static<typeof Run>["error"];
  event_id: string;
  /** Of which the approvals that are still pending take two each. */
  fresh: FreshIds;
}

/** A part: the last record of a run; null: the process has lost the run. */
export async function finish(tx: Tx, given: RunRecord, ending: RunFinish): Promise<RunRow | null> {
  const { run_id, epoch, at, steps, messages } = given;
  const to = transit("running", ENDINGS[ending.status]);
  const row = await tx.one(
    RunRow,
    sql`UPDATE runs SET ${setProgress(given.progress)}, last_seq = last_seq + ${steps.length},
          message_seq = message_seq + ${messages.length}, status = ${to},
          error = ${ending.error === null ? null : JSON.stringify(ending.error)},
          finished_at = ${at}, epoch = 0, ${addBytes(measureRecord(given))}
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running' RETURNING *`,
  );
  if (!row) return null;
  await writeRecord(tx, given, row, "running");
  const whole = await closeApprovals(tx, row, "running", ending.fresh, at);
  await settleEnding(tx, whole, ending.event_id, "running");
  return whole;
}

/** A part: what follows once the row of a run is final; `from`: the status that it had before. */
export async function settleEnding(
  tx: Tx,
  row: RunRow,
  event_id: string,
  from: Status,
): Promise<void> {
  await settleLast(tx, row.id);
  if (isActive(from)) await countActive(tx, row.account_id, -1);
  await addToDay(tx, row);
  await recordEvents(tx, {
    id: event_id,
    account_id: row.account_id,
    // agents.events.webhook.4, agents.states.p4: every final status but `succeeded`.
    type: row.status === "succeeded" ? "run.completed" : "run.failed",
    at: row.finished_at!,
    data: { run: show(Run, row) },
  });
}

/** A part: so many more runs of an account are queued or running. */
export async function countActive(tx: Tx, account_id: string, more: number): Promise<void> {
  await tx.run(
    sql`UPDATE run_counts SET active = active + ${more} WHERE account_id = ${account_id}`,
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
