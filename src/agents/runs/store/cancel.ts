// Cancelling, by the state in which a run is.
import { sql, type Tx } from "../../../database/index.ts";
import { RunRow } from "../run.ts";
import type { NewStep } from "../step.ts";
import { type Status, TRANSITIONS } from "../transitions.ts";
import { closeRun, type FreshIds } from "./close.ts";
import { settleEnding } from "./finish.ts";
import { addSteps } from "./record.ts";

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
  const to = TRANSITIONS[run.status].ask_to_cancel;
  // agents.states.any_final_cancel
  if (to === undefined) return run;
  if (to === run.status) return askToCancel(tx, run, fresh[0]!, now);
  // agents.states.queued_post_v1_runs_id_cancel, agents.states.waiting_approval_cancel
  return cancelAtOnce(tx, run, to, fresh, now);
}

/** agents.states.running_cancel, agents.states.p5: the run stops at its next step. */
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

async function cancelAtOnce(
  tx: Tx,
  run: RunRow,
  to: Status,
  fresh: FreshIds,
  now: number,
): Promise<RunRow> {
  const error = { code: "cancelled", message: "The run was cancelled." };
  const row = await tx.one(
    RunRow,
    sql`UPDATE runs SET status = ${to}, finished_at = ${now}, epoch = 0,
          error = ${JSON.stringify(error)}
        WHERE id = ${run.id} RETURNING *`,
  );
  const [event_id, ...ids] = fresh;
  const whole = await closeRun(tx, row!, run.status, ids, now);
  await settleEnding(tx, whole, event_id!, run.status);
  tx.tell("run", run.id);
  return whole;
}
